using System.Collections.Generic;
using System.Linq;
using System.Reflection.Metadata;

sealed partial class MethodWriter
{
    /// <summary>
    /// Puts a value of a kind on the stack. A `returned` reference refers to nothing in this frame.
    /// </summary>
    void Value(Kind kind, int depth, bool returned = false)
    {
        budget--;
        if (depth <= 0 || budget <= 0)
        {
            Leaf(kind, returned);
            return;
        }
        int choice = r.Below(100);
        if (choice < 20)
            Leaf(kind, returned);
        else if (choice < 30)
            Choice(kind, depth, returned);
        else if (choice >= 42 || !CallFor(kind, depth))
            Compute(kind, depth, returned);
    }

    /// <summary>One of two values.</summary>
    void Choice(Kind kind, int depth, bool returned)
    {
        Mark other = new Mark(), end = new Mark();
        Condition(other, depth - 1);
        Value(kind, depth - 1, returned);
        a.Branch(ILOpCode.Br, 0, end, r.Percent(5));
        a.Set(other);
        a.Depth--;
        Value(kind, depth - 1, returned);
        a.Set(end);
    }

    /// <summary>A variable or a constant.</summary>
    void Leaf(Kind kind, bool returned)
    {
        if (!(returned && kind.Cat == Cat.Ref) && r.Percent(75) && LoadVariable(kind))
            return;
        switch (kind.Name)
        {
            case "I4":
                Constant(SomeNumber());
                break;
            case "U1":
                Constant(r.Below(256));
                break;
            case "I2":
                Constant(r.Below(60000) - 30000);
                a.Op(ILOpCode.Conv_i2, 1, 1);
                break;
            case "I8":
                if (r.Percent(50))
                {
                    Constant(SomeNumber());
                    a.Op(r.Percent(70) ? ILOpCode.Conv_i8 : ILOpCode.Conv_u8, 1, 1);
                }
                else
                    a.Op(ILOpCode.Ldc_i8, 0, 1, 8, r.Percent(60) ? SomeNumber() * 3L : (long)r.Next());
                break;
            case "Native":
                Constant(SomeNumber());
                a.Op(r.Percent(70) ? ILOpCode.Conv_i : ILOpCode.Conv_u, 1, 1);
                break;
            case "R8":
                a.Op(ILOpCode.Ldc_r8, 0, 1, 8, System.BitConverter.DoubleToInt64Bits(SomeNumber() / 8.0));
                break;
            case "R4":
                a.Op(ILOpCode.Ldc_r4, 0, 1, 4, System.BitConverter.ToInt32(System.BitConverter.GetBytes(r.Below(999) / 4f), 0));
                break;
            case "Obj":
                if (r.Percent(15))
                    a.Op(ILOpCode.Ldnull, 0, 1);
                else
                    a.Token(ILOpCode.Ldsfld, 0, 1, tokens.Field(state, "SO", kind.Sig));
                break;
            case "Str":
                a.Token(ILOpCode.Ldstr, 0, 1, tokens.String("text " + r.Below(9)));
                break;
            case "Node":
                Constant(r.Below(20));
                a.Token(ILOpCode.Newobj, 1, 1, Constructor(r.Percent(50) ? "Node" : "Leaf"));
                break;
            case "Ints":
            case "Objs":
            case "Pts":
                Constant(r.Percent(3) ? 7 : r.Below(7));
                Made(kind);
                break;
            case "Pt":
                a.Token(ILOpCode.Ldsfld, 0, 1, tokens.Field(state, "SP", kind.Sig));
                break;
            default:
                if (kind.Cat == Cat.Ref)
                {
                    Address(kind.Element, 0, returned);
                    break;
                }
                int empty = Local(kind);
                LoadLocalAddress(empty);
                a.Token(ILOpCode.Initobj, 1, 0, kind.Token);
                LoadLocal(empty);
                break;
        }
    }

    int SomeNumber()
    {
        switch (r.Below(8))
        {
            case 0:
                return (int)r.Next();
            case 1:
                return r.Below(70000) - 35000;
            case 2:
                return r.Percent(50) ? int.MaxValue : int.MinValue;
            default:
                return r.Below(140) - 10;
        }
    }

    /// <summary>Loads a variable of exactly this kind, if there is one.</summary>
    bool LoadVariable(Kind kind)
    {
        List<int> own = LocalsOf(kind), passed = ArgumentsOf(kind);
        if (own.Count + passed.Count == 0)
            return false;
        int chosen = r.Below(own.Count + passed.Count);
        if (chosen < own.Count)
            LoadLocal(own[chosen]);
        else
            LoadArgument(passed[chosen - own.Count]);
        return true;
    }

    List<int> LocalsOf(Kind kind) => variables.Where(local => locals[local] == kind).ToList();

    List<int> ArgumentsOf(Kind kind) => Enumerable.Range(0, arguments.Count).Where(i => arguments[i] == kind).ToList();

    (string, Kind)[] Statics() =>
        new[] { ("SI", kinds.I4), ("SL", kinds.I8), ("SD", kinds.R8), ("SO", kinds.Obj), ("SP", kinds.Pt) };

    (string, Kind)[] Fields() => new[]
    {
        ("I", kinds.I4), ("L", kinds.I8), ("D", kinds.R8), ("O", kinds.Obj), ("P", kinds.Pt), ("Ints", kinds.Ints)
    };

    int Constructor(string type) => tokens.Member(tokens.Ground(type), ".ctor", new byte[] { 0x20, 1, 0x01, 0x08 });

    /// <summary>Creates an array, or null, from the number on the stack.</summary>
    void Made(Kind array)
    {
        string name = array == kinds.Ints ? "Ints" : array == kinds.Objs ? "Objects" : "Pts";
        a.Token(
            ILOpCode.Call, 1, 1, tokens.Member(state, name, new byte[] { 0, 1 }.Concat(array.Sig).Append((byte)0x08).ToArray()));
    }

    /// <summary>An index, usually of an existing element.</summary>
    void Index(int depth)
    {
        Value(kinds.I4, depth);
        if (r.Percent(96))
        {
            Constant(r.Percent(90) ? 1 : 3);
            a.Op(ILOpCode.And, 2, 1);
        }
        if (r.Percent(15))
            a.Op(ILOpCode.Conv_i, 1, 1);
    }

    /// <summary>A reference to something of a kind (I4, I8, Obj or Pt).</summary>
    void Address(Kind kind, int depth, bool lasting, bool onlyRead = false)
    {
        List<int> own = LocalsOf(kind), passed = ArgumentsOf(kind);
        int choice = r.Below(10);
        if (!lasting && choice < 3 && own.Count > 0)
            LoadLocalAddress(r.Of(own));
        else if (!lasting && choice < 5 && passed.Count > 0)
        {
            int argument = r.Of(passed);
            if (r.Percent(80))
                a.Op(ILOpCode.Ldarga_s, 0, 1, 1, argument);
            else
                a.Op(ILOpCode.Ldarga, 0, 1, 2, argument);
        }
        else if (!lasting && choice < 7 && LoadVariable(Reference(kind)))
        {
        }
        else if (depth > 0 && choice < 8 && kind != kinds.I8)
        {
            Value(kind == kinds.I4 ? kinds.Ints : kind == kinds.Obj ? kinds.Objs : kinds.Pts, depth - 1);
            Index(depth - 1);
            if (onlyRead && r.Percent(60))
                a.Op(ILOpCode.Readonly, 0, 0);
            a.Token(ILOpCode.Ldelema, 2, 1, kind.Token);
        }
        else if (depth > 0 && choice == 8 && kind == kinds.I4 && r.Percent(40))
        {
            Value(kinds.Span, depth - 1);
            Index(depth - 1);
            byte[] at = new byte[] { 0, 2, 0x10, 0x08 }.Concat(kinds.Span.Sig).Append((byte)0x08).ToArray();
            a.Token(ILOpCode.Call, 2, 1, tokens.Member(state, "At", at));
        }
        else if (depth > 0 && choice < 9)
        {
            Value(kinds.Node, depth - 1);
            var (name, field) = Fields().First(one => one.Item2 == kind);
            a.Token(ILOpCode.Ldflda, 1, 1, tokens.Field(tokens.Ground("Node"), name, field.Sig));
        }
        else
        {
            var (name, field) = Statics().First(one => one.Item2 == kind);
            a.Token(ILOpCode.Ldsflda, 0, 1, tokens.Field(state, name, field.Sig));
        }
    }

    Kind Reference(Kind kind) =>
        kind == kinds.I4 ? kinds.RefI4 : kind == kinds.I8 ? kinds.RefI8 : kind == kinds.Obj ? kinds.RefObj : kinds.RefPt;

    /// <summary>Loads through the reference on the stack.</summary>
    void LoadThrough(Kind kind)
    {
        if (r.Percent(10))
            a.Op(ILOpCode.Volatile, 0, 0);
        if (kind == kinds.Pt || r.Percent(30))
            a.Token(ILOpCode.Ldobj, 1, 1, kind.Token);
        else
            a.Op(kind == kinds.I4 ? ILOpCode.Ldind_i4 : kind == kinds.I8 ? ILOpCode.Ldind_i8 : ILOpCode.Ldind_ref, 1, 1);
    }

    void Constant(int number)
    {
        if (number >= -1 && number <= 8 && r.Percent(90))
            a.Op((ILOpCode)((int)ILOpCode.Ldc_i4_0 + number), 0, 1);
        else if (number >= sbyte.MinValue && number <= sbyte.MaxValue && r.Percent(90))
            a.Op(ILOpCode.Ldc_i4_s, 0, 1, 1, number);
        else
            a.Op(ILOpCode.Ldc_i4, 0, 1, 4, number);
    }

    void LoadLocal(int local) => Numbered(local, 0, 1, ILOpCode.Ldloc_0, ILOpCode.Ldloc_s, ILOpCode.Ldloc);

    void StoreLocal(int local) => Numbered(local, 1, 0, ILOpCode.Stloc_0, ILOpCode.Stloc_s, ILOpCode.Stloc);

    void LoadArgument(int argument) => Numbered(argument, 0, 1, ILOpCode.Ldarg_0, ILOpCode.Ldarg_s, ILOpCode.Ldarg);

    void Numbered(int number, int pops, int pushes, ILOpCode tiny, ILOpCode small, ILOpCode wide)
    {
        if (number < 4 && r.Percent(90))
            a.Op((ILOpCode)((int)tiny + number), pops, pushes);
        else if (number < 256 && r.Percent(90))
            a.Op(small, pops, pushes, 1, number);
        else
            a.Op(wide, pops, pushes, 2, number);
    }

    void LoadLocalAddress(int local)
    {
        if (local < 256 && r.Percent(90))
            a.Op(ILOpCode.Ldloca_s, 0, 1, 1, local);
        else
            a.Op(ILOpCode.Ldloca, 0, 1, 2, local);
    }
}
