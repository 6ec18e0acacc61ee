using System.Linq;
using System.Reflection.Metadata;

/// <summary>Elements, spans, pinned memory, memory blocks, and memory on the stack.</summary>
sealed partial class MethodWriter
{
    /// <summary>Array elements of one stack type: how they are loaded and stored, in arrays and by reference.</summary>
    static readonly (string Type, Cat Cat, ILOpCode[] Ops)[] Elements =
    {
        ("SByte", Cat.I4, new[] { ILOpCode.Ldelem_i1, ILOpCode.Stelem_i1, ILOpCode.Ldind_i1, ILOpCode.Stind_i1 }),
        ("Byte", Cat.I4, new[] { ILOpCode.Ldelem_u1, ILOpCode.Stelem_i1, ILOpCode.Ldind_u1, ILOpCode.Stind_i1 }),
        ("Int16", Cat.I4, new[] { ILOpCode.Ldelem_i2, ILOpCode.Stelem_i2, ILOpCode.Ldind_i2, ILOpCode.Stind_i2 }),
        ("UInt16", Cat.I4, new[] { ILOpCode.Ldelem_u2, ILOpCode.Stelem_i2, ILOpCode.Ldind_u2, ILOpCode.Stind_i2 }),
        ("UInt32", Cat.I4, new[] { ILOpCode.Ldelem_u4, ILOpCode.Stelem_i4, ILOpCode.Ldind_u4, ILOpCode.Stind_i4 }),
        ("Int64", Cat.I8, new[] { ILOpCode.Ldelem_i8, ILOpCode.Stelem_i8, ILOpCode.Ldind_i8, ILOpCode.Stind_i8 }),
        ("IntPtr", Cat.Native, new[] { ILOpCode.Ldelem_i, ILOpCode.Stelem_i, ILOpCode.Ldind_i, ILOpCode.Stind_i }),
        ("Double", Cat.Float, new[] { ILOpCode.Ldelem_r8, ILOpCode.Stelem_r8, ILOpCode.Ldind_r8, ILOpCode.Stind_r8 }),
        ("Single", Cat.Float, new[] { ILOpCode.Ldelem_r4, ILOpCode.Stelem_r4, ILOpCode.Ldind_r4, ILOpCode.Stind_r4 })
    };

    /// <summary>A value stored in a new array's element, narrowed there, and loaded again.</summary>
    void ThroughElement(Kind kind, int depth)
    {
        var (name, _, ops) = r.Of(Elements.Where(element => element.Cat == kind.Cat).ToList());
        int type = tokens.System(name);
        Constant(4);
        a.Token(ILOpCode.Newarr, 1, 1, type);
        int index = r.Below(4);
        if (r.Percent(50))
        {
            a.Op(ILOpCode.Dup, 1, 2);
            Constant(index);
            Value(kind, depth);
            a.Op(ops[1], 3, 0);
            Constant(index);
            a.Op(ops[0], 2, 1);
        }
        else
        {
            Constant(index);
            a.Token(ILOpCode.Ldelema, 2, 1, type);
            a.Op(ILOpCode.Dup, 1, 2);
            Value(kind, depth);
            a.Op(ops[3], 2, 0);
            a.Op(ops[2], 1, 1);
        }
        if (name == "Single")
            a.Op(ILOpCode.Conv_r8, 1, 1);
    }

    /// <summary>An array's elements, or some of them: never stack memory.</summary>
    void Spanned(int depth)
    {
        if (r.Percent(70))
        {
            Value(kinds.Ints, depth);
            a.Token(
                ILOpCode.Newobj, 1, 1, tokens.Member(kinds.Span.Token, ".ctor", new byte[] { 0x20, 1, 0x01, 0x1D, 0x13, 0 }));
            return;
        }
        int whole = Local(kinds.Span);
        Value(kinds.Span, depth);
        StoreLocal(whole);
        LoadLocalAddress(whole);
        Constant(r.Below(2));
        byte[] slice = new byte[] { 0x20, 1, 0x15, 0x11 }
            .Concat(Tokens.Coded(tokens.System("Span`1"))).Concat(new byte[] { 1, 0x13, 0, 0x08 }).ToArray();
        a.Token(ILOpCode.Call, 2, 1, tokens.Member(kinds.Span.Token, "Slice", slice));
    }

    /// <summary>A pinned local, and access to its memory by a plain address.</summary>
    void Pin()
    {
        bool whole = r.Percent(30);
        int pinned = Local(whole ? kinds.PinnedInts : kinds.PinnedRef);
        if (whole)
        {
            Value(kinds.Ints, 1);
            StoreLocal(pinned);
            LoadLocal(pinned);
            Index(1);
            a.Token(ILOpCode.Ldelema, 2, 1, kinds.I4.Token);
        }
        else
        {
            Address(kinds.I4, 1, false);
            StoreLocal(pinned);
            LoadLocal(pinned);
        }
        a.Op(r.Percent(50) ? ILOpCode.Conv_u : ILOpCode.Conv_i, 1, 1);
        a.Op(ILOpCode.Dup, 1, 2);
        // Calls meanwhile move nothing.
        Value(kinds.I4, 2);
        a.Op(ILOpCode.Stind_i4, 2, 0);
        a.Op(ILOpCode.Ldind_i4, 1, 1);
        Mix(kinds.I4);
        if (whole || r.Percent(50))
            return;
        Constant(0);
        a.Op(ILOpCode.Conv_u, 1, 1);
        StoreLocal(pinned);
    }

    /// <summary>Bytes filled and copied as blocks.</summary>
    void Blocks()
    {
        int bytes = Local(kinds.Bytes);
        Constant(16);
        a.Token(ILOpCode.Newarr, 1, 1, kinds.U1.Token);
        StoreLocal(bytes);
        void At(int offset)
        {
            LoadLocal(bytes);
            Constant(offset);
            a.Token(ILOpCode.Ldelema, 2, 1, kinds.U1.Token);
        }
        int first = r.Below(8);
        At(first);
        Value(kinds.U1, 1);
        Constant(1 + r.Below(8 - first));
        if (first > 0)
            a.Op(ILOpCode.Unaligned, 0, 0, 1, 1);
        a.Op(ILOpCode.Initblk, 3, 0);
        At(8);
        At(0);
        Constant(1 + r.Below(8));
        if (r.Percent(20))
            a.Op(ILOpCode.Volatile, 0, 0);
        a.Op(ILOpCode.Cpblk, 3, 0);
        LoadLocal(bytes);
        Constant(8 + r.Below(8));
        a.Op(ILOpCode.Ldelem_u1, 2, 1);
        Mix(kinds.I4);
    }

    /// <summary>Memory on the stack, written and read.</summary>
    void Allocate()
    {
        int memory = Local(kinds.Native);
        Constant(16 + 16 * r.Below(4));
        a.Op(ILOpCode.Conv_u, 1, 1);
        a.Op(ILOpCode.Localloc, 1, 1);
        StoreLocal(memory);
        if (!initLocals)
        {
            LoadLocal(memory);
            Constant(0);
            Constant(16);
            a.Op(ILOpCode.Initblk, 3, 0);
        }
        LoadLocal(memory);
        Value(kinds.I4, 1);
        a.Op(ILOpCode.Stind_i4, 2, 0);
        LoadLocal(memory);
        Constant(4 + r.Below(4));
        a.Op(ILOpCode.Add, 2, 1);
        Value(kinds.I8, 1);
        a.Op(ILOpCode.Unaligned, 0, 0, 1, 1);
        a.Op(ILOpCode.Stind_i8, 2, 0);
        LoadLocal(memory);
        Constant(4);
        a.Token(
            ILOpCode.Newobj, 2, 1, tokens.Member(kinds.Span.Token, ".ctor", new byte[] { 0x20, 2, 0x01, 0x0F, 0x01, 0x08 }));
        Mix(kinds.Span);
    }
}
