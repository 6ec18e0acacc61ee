using System.Collections.Generic;
using System.Linq;

/// <summary>The type of a value on the stack.</summary>
enum Cat
{
    I4,
    I8,
    Native,
    Float,
    Object,
    Ref,
    Value,
    /// <summary>A type parameter's type.</summary>
    Var
}

/// <summary>A type of variables, parameters and results.</summary>
sealed class Kind
{
    public string Name;
    public Cat Cat;
    public byte[] Sig;
    /// <summary>For box, ldobj, initobj; 0 for references to variables.</summary>
    public int Token;
    /// <summary>The target of a reference, or the element type of an array.</summary>
    public Kind Element;

    public override string ToString() => Name;
}

/// <summary>The types that generated methods use, with the tokens of one module.</summary>
sealed class Kinds
{
    public readonly Kind I4, U1, I2, I8, Native, R8, R4, Obj, Str, Node, Ints, Objs, Pts, Pt, Mixed, Pair;
    public readonly Kind RefI4, RefI8, RefObj, RefPt, TypeVar, MethodVar;
    /// <summary>Refers to memory, so it lives only on stacks.</summary>
    public readonly Kind Span;
    /// <summary>Pinned locals.</summary>
    public readonly Kind PinnedRef, PinnedInts;
    public readonly Kind Bytes, TypeHandle;
    /// <summary>Kinds of variables.</summary>
    public readonly Kind[] Plain;
    /// <summary>Kinds that a type parameter may stand for.</summary>
    public readonly Kind[] Arguments;
    readonly Tokens tokens;

    public Kinds(Tokens tokens)
    {
        this.tokens = tokens;
        I4 = Simple("I4", Cat.I4, 0x08, "Int32");
        U1 = Simple("U1", Cat.I4, 0x05, "Byte");
        I2 = Simple("I2", Cat.I4, 0x06, "Int16");
        I8 = Simple("I8", Cat.I8, 0x0A, "Int64");
        Native = Simple("Native", Cat.Native, 0x18, "IntPtr");
        R8 = Simple("R8", Cat.Float, 0x0D, "Double");
        R4 = Simple("R4", Cat.Float, 0x0C, "Single");
        Obj = Simple("Obj", Cat.Object, 0x1C, "Object");
        Str = Simple("Str", Cat.Object, 0x0E, "String");
        int node = tokens.Ground("Node"), pt = tokens.Ground("Pt"), mixed = tokens.Ground("Mixed");
        Node = Of("Node", Cat.Object, node, new byte[] { 0x12 }, Tokens.Coded(node));
        Pt = Of("Pt", Cat.Value, pt, new byte[] { 0x11 }, Tokens.Coded(pt));
        Mixed = Of("Mixed", Cat.Value, mixed, new byte[] { 0x11 }, Tokens.Coded(mixed));
        Pair = Spec("Pair", Cat.Value, null,
            new byte[] { 0x15, 0x11 }, Tokens.Coded(tokens.Ground("Pair`2")), new byte[] { 2, 0x08, 0x0E });
        Ints = Spec("Ints", Cat.Object, I4, new byte[] { 0x1D }, I4.Sig);
        Objs = Spec("Objs", Cat.Object, Obj, new byte[] { 0x1D }, Obj.Sig);
        Pts = Spec("Pts", Cat.Object, Pt, new byte[] { 0x1D }, Pt.Sig);
        RefI4 = RefTo(I4);
        RefI8 = RefTo(I8);
        RefObj = RefTo(Obj);
        RefPt = RefTo(Pt);
        Span = Spec("Span", Cat.Value, I4, new byte[] { 0x15, 0x11 }, Tokens.Coded(tokens.System("Span`1")), new byte[] { 1, 0x08 });
        PinnedRef = Pinned(RefI4);
        PinnedInts = Pinned(Ints);
        Bytes = Of("Bytes", Cat.Object, 0, new byte[] { 0x1D }, U1.Sig);
        TypeHandle = Of("TypeHandle", Cat.Value, 0, new byte[] { 0x11 }, Tokens.Coded(tokens.System("RuntimeTypeHandle")));
        TypeVar = Spec("Var", Cat.Var, null, new byte[] { 0x13, 0 });
        MethodVar = Spec("Var", Cat.Var, null, new byte[] { 0x1E, 0 });
        Plain = new[]
        {
            I4, I4, I4, U1, I2, I8, I8, Native, R8, R8, R4, Obj, Obj, Str, Node, Ints, Objs, Pts, Pt, Mixed, Pair, Span,
            RefI4, RefI8, RefObj, RefPt
        };
        Arguments = new[] { I4, I8, Str, Obj, Node, Pt, R8 };
    }

    Kind Simple(string name, Cat cat, byte element, string type) =>
        Of(name, cat, tokens.System(type), new[] { element });

    static Kind Of(string name, Cat cat, int token, params byte[][] sig) =>
        new Kind { Name = name, Cat = cat, Token = token, Sig = sig.SelectMany(part => part).ToArray() };

    Kind Spec(string name, Cat cat, Kind element, params byte[][] sig)
    {
        Kind kind = Of(name, cat, 0, sig);
        kind.Token = tokens.TypeSpec(kind.Sig);
        kind.Element = element;
        return kind;
    }

    static Kind RefTo(Kind element)
    {
        Kind kind = Of("Ref" + element.Name, Cat.Ref, 0, new byte[] { 0x10 }, element.Sig);
        kind.Element = element;
        return kind;
    }

    static Kind Pinned(Kind kind)
    {
        Kind pinned = Of("Pinned" + kind.Name, kind.Cat, 0, new byte[] { 0x45 }, kind.Sig);
        pinned.Element = kind.Element;
        return pinned;
    }

    /// <summary>A generated type, with its argument if it is generic.</summary>
    public Kind Type(Owner owner, Kind argument)
    {
        byte[] open = new[] { owner.IsValueType ? (byte)0x11 : (byte)0x12 }.Concat(Tokens.Coded(owner.Token)).ToArray();
        Cat cat = owner.IsValueType ? Cat.Value : Cat.Object;
        return owner.IsGeneric
            ? Spec(owner.Name, cat, null, new byte[] { 0x15 }, open, new byte[] { 1 }, argument.Sig)
            : Of(owner.Name, cat, owner.Token, open);
    }
}

/// <summary>The kind of type that contains a generated method.</summary>
enum OwnerShape
{
    Static,
    Class,
    Struct,
    GenericStatic,
    GenericClass,
    GenericStruct
}

/// <summary>A generated type and its methods.</summary>
sealed class Owner
{
    public string Name;
    public OwnerShape Shape;
    public int Token;
    public bool IsClass => Shape == OwnerShape.Class || Shape == OwnerShape.GenericClass;
    public bool IsValueType => Shape == OwnerShape.Struct || Shape == OwnerShape.GenericStruct;
    public bool IsStatic => !IsClass && !IsValueType;
    /// <summary>Has one type parameter.</summary>
    public bool IsGeneric => Shape >= OwnerShape.GenericStatic;
    public string ClrName => IsGeneric ? Name + "`1" : Name;
    public List<Planned> Methods = new List<Planned>();
    /// <summary>The only field of a value type, an int.</summary>
    public int Field;
    /// <summary>The constructor of a class.</summary>
    public Planned Constructor;
}

/// <summary>A method to generate.</summary>
sealed class Planned
{
    /// <summary>Its number among the methods of all modules: the index of its entry count.</summary>
    public int Index;
    /// <summary>MethodDef.</summary>
    public int Token;
    public string Name;
    public Owner Owner;
    /// <summary>Null for void.</summary>
    public Kind Returns;
    public Kind[] Params;
    public bool IsStatic = true;
    public bool IsVirtual;
    public bool IsGeneric;
    public bool IsTiny;
    public bool IsHuge;
    public bool Inline;
    public bool IsSynchronized;

    public bool IsConstructor => Name == ".ctor";
    public bool IsTypeInitializer => Name == ".cctor";

    public byte[] Signature()
    {
        var signature = new List<byte> { (byte)((IsStatic ? 0 : 0x20) | (IsGeneric ? 0x10 : 0)) };
        if (IsGeneric)
            signature.Add(1);
        signature.Add((byte)Params.Length);
        signature.AddRange(Returns == null ? new byte[] { 0x01 } : Returns.Sig);
        foreach (Kind parameter in Params)
            signature.AddRange(parameter.Sig);
        return signature.ToArray();
    }

    /// <summary>Returns whether one may jmp to the other.</summary>
    public bool IsLike(Planned other) =>
        IsStatic && other.IsStatic && Returns == other.Returns && Params.SequenceEqual(other.Params);
}
