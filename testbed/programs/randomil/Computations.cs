using System.Linq;
using System.Reflection.Metadata;

sealed partial class MethodWriter
{
    static readonly ILOpCode[] Arithmetic =
    {
        ILOpCode.Add, ILOpCode.Sub, ILOpCode.Mul, ILOpCode.And, ILOpCode.Or, ILOpCode.Xor, ILOpCode.Add, ILOpCode.Xor,
        ILOpCode.Add, ILOpCode.Sub, ILOpCode.Mul, ILOpCode.And, ILOpCode.Or, ILOpCode.Xor, ILOpCode.Add, ILOpCode.Xor,
        ILOpCode.Add, ILOpCode.Sub, ILOpCode.Mul, ILOpCode.And, ILOpCode.Or, ILOpCode.Xor, ILOpCode.Add, ILOpCode.Xor,
        ILOpCode.Add_ovf, ILOpCode.Sub_ovf, ILOpCode.Mul_ovf, ILOpCode.Add_ovf_un, ILOpCode.Sub_ovf_un, ILOpCode.Mul_ovf_un
    };

    static readonly ILOpCode[] Divisions = { ILOpCode.Div, ILOpCode.Div_un, ILOpCode.Rem, ILOpCode.Rem_un };

    static readonly ILOpCode[] Shifts = { ILOpCode.Shl, ILOpCode.Shr, ILOpCode.Shr_un };

    static readonly ILOpCode[] ToInt =
    {
        ILOpCode.Conv_i1, ILOpCode.Conv_i2, ILOpCode.Conv_i4, ILOpCode.Conv_u1, ILOpCode.Conv_u2, ILOpCode.Conv_u4,
        ILOpCode.Conv_i4, ILOpCode.Conv_ovf_i1, ILOpCode.Conv_ovf_i2, ILOpCode.Conv_ovf_i4, ILOpCode.Conv_ovf_u1,
        ILOpCode.Conv_ovf_u2, ILOpCode.Conv_ovf_u4, ILOpCode.Conv_ovf_i1_un, ILOpCode.Conv_ovf_i2_un,
        ILOpCode.Conv_ovf_i4_un, ILOpCode.Conv_ovf_u1_un, ILOpCode.Conv_ovf_u2_un, ILOpCode.Conv_ovf_u4_un
    };

    static readonly ILOpCode[] ToLong =
    {
        ILOpCode.Conv_i8, ILOpCode.Conv_i8, ILOpCode.Conv_u8, ILOpCode.Conv_ovf_i8, ILOpCode.Conv_ovf_u8,
        ILOpCode.Conv_ovf_i8_un, ILOpCode.Conv_ovf_u8_un
    };

    static readonly ILOpCode[] ToNative =
    {
        ILOpCode.Conv_i, ILOpCode.Conv_i, ILOpCode.Conv_u, ILOpCode.Conv_ovf_i, ILOpCode.Conv_ovf_u, ILOpCode.Conv_ovf_i_un,
        ILOpCode.Conv_ovf_u_un
    };

    /// <summary>A value computed from others.</summary>
    void Compute(Kind kind, int depth, bool returned)
    {
        int below = depth - 1;
        switch (kind.Cat)
        {
            case Cat.I4:
                Int(below);
                if (kind == kinds.U1)
                    a.Op(ILOpCode.Conv_u1, 1, 1);
                else if (kind == kinds.I2)
                    a.Op(ILOpCode.Conv_i2, 1, 1);
                break;
            case Cat.I8:
                Long(below);
                break;
            case Cat.Native:
                Native(below);
                break;
            case Cat.Float:
                Float(below);
                if (kind == kinds.R4)
                    a.Op(ILOpCode.Conv_r4, 1, 1);
                break;
            case Cat.Object:
                Reference(kind, below);
                break;
            case Cat.Ref:
                Address(kind.Element, depth, returned);
                break;
            case Cat.Var:
                Value(kind, below);
                a.Token(ILOpCode.Box, 1, 1, kind.Token);
                a.Token(ILOpCode.Unbox_any, 1, 1, kind.Token);
                break;
            default:
                Structure(kind, below);
                break;
        }
    }

    /// <summary>Two operands and an operation on them.</summary>
    void Binary(Kind kind, int depth)
    {
        Value(kind, depth);
        switch (r.Below(8))
        {
            case 0:
                // Divisors 0 to 255: never -1.
                Value(kinds.I4, depth);
                Constant(r.Percent(50) ? 255 : 7);
                a.Op(ILOpCode.And, 2, 1);
                if (r.Percent(70))
                {
                    Constant(1);
                    a.Op(ILOpCode.Or, 2, 1);
                }
                if (kind != kinds.I4)
                    a.Op(kind == kinds.I8 ? ILOpCode.Conv_i8 : ILOpCode.Conv_i, 1, 1);
                a.Op(r.Of(Divisions), 2, 1);
                break;
            case 1:
                Value(kinds.I4, depth);
                Constant(31);
                a.Op(ILOpCode.And, 2, 1);
                a.Op(r.Of(Shifts), 2, 1);
                break;
            case 2:
                a.Op(r.Percent(50) ? ILOpCode.Neg : ILOpCode.Not, 1, 1);
                break;
            case 3:
                a.Op(ILOpCode.Dup, 1, 2);
                a.Op(r.Percent(50) ? ILOpCode.Mul : ILOpCode.Add, 2, 1);
                break;
            default:
                Value(kind, depth);
                a.Op(r.Of(Arithmetic), 2, 1);
                break;
        }
    }

    void Int(int depth)
    {
        switch (r.Below(17))
        {
            case 0:
                Compare(depth);
                break;
            case 1:
                Value(r.Of(new[] { kinds.I4, kinds.I8, kinds.Native }), depth);
                a.Op(r.Percent(80) ? ToInt[r.Below(6)] : r.Of(ToInt), 1, 1);
                break;
            case 2:
                Value(kinds.R8, depth);
                a.Op(r.Percent(80) ? ILOpCode.Conv_ovf_i4 : ILOpCode.Conv_ovf_i2, 1, 1);
                break;
            case 3:
                Value(kinds.Ints, depth);
                Index(depth);
                if (r.Percent(60))
                    a.Op(ILOpCode.Ldelem_i4, 2, 1);
                else
                    a.Token(ILOpCode.Ldelem, 2, 1, kinds.I4.Token);
                break;
            case 4:
                Value(r.Of(new[] { kinds.Ints, kinds.Objs, kinds.Pts }), depth);
                a.Op(ILOpCode.Ldlen, 1, 1);
                a.Op(ILOpCode.Conv_i4, 1, 1);
                break;
            case 5:
                Value(kinds.Node, depth);
                a.Token(ILOpCode.Ldfld, 1, 1, tokens.Field(tokens.Ground("Node"), "I", kinds.I4.Sig));
                break;
            case 6:
                Address(kinds.I4, depth, false, true);
                LoadThrough(kinds.I4);
                break;
            case 7:
                if (r.Percent(93))
                    Boxed(kinds.I4, depth);
                else
                    Value(kinds.Obj, depth);
                a.Token(ILOpCode.Unbox_any, 1, 1, kinds.I4.Token);
                break;
            case 8:
                Value(r.Percent(50) ? kinds.Pt : kinds.RefPt, depth);
                a.Token(ILOpCode.Ldfld, 1, 1, tokens.Field(tokens.Ground("Pt"), "A", kinds.I4.Sig));
                break;
            case 9:
                Value(kinds.Node, depth);
                Value(kinds.I4, depth);
                a.Token(
                    ILOpCode.Callvirt, 2, 1, tokens.Member(tokens.Ground("Node"), "Visit", new byte[] { 0x20, 1, 0x08, 0x08 }));
                break;
            case 10:
                a.Token(ILOpCode.Sizeof, 0, 1, r.Of(new[] { kinds.I4, kinds.I8, kinds.Pt, kinds.R4 }).Token);
                break;
            case 11:
                ThroughElement(kinds.I4, depth);
                break;
            case 12:
                VirtualThroughDelegate(depth);
                break;
            default:
                Binary(kinds.I4, depth);
                break;
        }
    }

    void VirtualThroughDelegate(int depth)
    {
        Value(kinds.Node, depth);
        a.Op(ILOpCode.Dup, 1, 2);
        a.Token(
            ILOpCode.Ldvirtftn, 1, 1, tokens.Member(tokens.Ground("Node"), "Visit", new byte[] { 0x20, 1, 0x08, 0x08 }));
        InvokeDelegate(depth);
    }

    void Compare(int depth)
    {
        if (r.Percent(30))
        {
            Value(kinds.Obj, depth);
            a.Token(ILOpCode.Isinst, 1, 1, r.Of(new[] { kinds.Str, kinds.Node, kinds.Ints, kinds.Pt }).Token);
            a.Op(ILOpCode.Ldnull, 0, 1);
            a.Op(r.Percent(50) ? ILOpCode.Cgt_un : ILOpCode.Ceq, 2, 1);
            return;
        }
        Kind kind = r.Of(new[] { kinds.I4, kinds.I8, kinds.Native, kinds.R8 });
        Value(kind, depth);
        Value(kind, depth);
        a.Op(r.Of(new[] { ILOpCode.Ceq, ILOpCode.Cgt, ILOpCode.Clt, ILOpCode.Cgt_un, ILOpCode.Clt_un }), 2, 1);
    }

    void Long(int depth)
    {
        switch (r.Below(9))
        {
            case 0:
                Value(kinds.I4, depth);
                a.Op(r.Percent(80) ? ToLong[r.Below(3)] : r.Of(ToLong), 1, 1);
                break;
            case 1:
                Value(kinds.R8, depth);
                a.Op(ILOpCode.Conv_ovf_i8, 1, 1);
                break;
            case 2:
                Value(kinds.Node, depth);
                a.Token(ILOpCode.Ldfld, 1, 1, tokens.Field(tokens.Ground("Node"), "L", kinds.I8.Sig));
                break;
            case 3:
                Address(kinds.I8, depth, false, true);
                LoadThrough(kinds.I8);
                break;
            case 4:
                Value(kinds.Native, depth);
                a.Op(r.Percent(50) ? ILOpCode.Conv_i8 : ILOpCode.Conv_u8, 1, 1);
                break;
            case 5:
                Boxed(kinds.I8, depth);
                a.Token(ILOpCode.Unbox, 1, 1, kinds.I8.Token);
                a.Op(ILOpCode.Ldind_i8, 1, 1);
                break;
            case 6:
                ThroughElement(kinds.I8, depth);
                break;
            default:
                Binary(kinds.I8, depth);
                break;
        }
    }

    void Native(int depth)
    {
        switch (r.Below(5))
        {
            case 0:
                Value(r.Percent(70) ? kinds.I4 : kinds.I8, depth);
                a.Op(r.Percent(80) ? ToNative[r.Below(3)] : r.Of(ToNative), 1, 1);
                break;
            case 1:
                // A native int and an int32 make a native int.
                Value(kinds.Native, depth);
                Value(kinds.I4, depth);
                a.Op(r.Percent(50) ? ILOpCode.Add : ILOpCode.Sub, 2, 1);
                break;
            case 2:
                ThroughElement(kinds.Native, depth);
                break;
            default:
                Binary(kinds.Native, depth);
                break;
        }
    }

    void Float(int depth)
    {
        switch (r.Below(9))
        {
            case 0:
                Value(r.Percent(70) ? kinds.I4 : kinds.I8, depth);
                a.Op(ILOpCode.Conv_r8, 1, 1);
                break;
            case 1:
                Value(kinds.I4, depth);
                a.Op(ILOpCode.Conv_r_un, 1, 1);
                a.Op(ILOpCode.Conv_r8, 1, 1);
                break;
            case 2:
                Value(kinds.R4, depth);
                a.Op(ILOpCode.Conv_r8, 1, 1);
                break;
            case 3:
                Value(kinds.Node, depth);
                a.Token(ILOpCode.Ldfld, 1, 1, tokens.Field(tokens.Ground("Node"), "D", kinds.R8.Sig));
                break;
            case 4:
                Value(kinds.R8, depth);
                a.Op(r.Percent(60) ? ILOpCode.Neg : ILOpCode.Ckfinite, 1, 1);
                break;
            case 5:
                ThroughElement(kinds.R8, depth);
                break;
            default:
                Value(kinds.R8, depth);
                Value(kinds.R8, depth);
                a.Op(r.Of(new[] { ILOpCode.Add, ILOpCode.Sub, ILOpCode.Mul, ILOpCode.Div, ILOpCode.Rem }), 2, 1);
                break;
        }
    }

    void Boxed(Kind kind, int depth)
    {
        Value(kind, depth);
        a.Token(ILOpCode.Box, 1, 1, kind.Token);
    }

    void Reference(Kind kind, int depth)
    {
        switch (kind.Name)
        {
            case "Str":
                if (OwnVariable() != null && r.Percent(50) && AsText(OwnVariable()))
                    break;
                Value(kinds.I4, depth);
                a.Token(ILOpCode.Call, 1, 1, tokens.Member(state, "Say", new byte[] { 0, 1, 0x0E, 0x08 }));
                break;
            case "Node":
                if (r.Percent(25))
                {
                    Value(kinds.Obj, depth);
                    a.Token(r.Percent(15) ? ILOpCode.Castclass : ILOpCode.Isinst, 1, 1, kind.Token);
                    OrElse(kind);
                    break;
                }
                Value(kinds.I4, depth);
                a.Token(ILOpCode.Newobj, 1, 1, Constructor(r.Percent(50) ? "Node" : "Leaf"));
                break;
            case "Ints":
                if (r.Percent(25))
                {
                    Value(kinds.Node, depth);
                    a.Token(ILOpCode.Ldfld, 1, 1, tokens.Field(tokens.Ground("Node"), "Ints", kind.Sig));
                    OrElse(kind);
                    break;
                }
                goto case "Pts";
            case "Objs":
            case "Pts":
                Value(kinds.I4, depth);
                if (r.Percent(50))
                {
                    Constant(3);
                    a.Op(ILOpCode.And, 2, 1);
                    Made(kind);
                    break;
                }
                Constant(4);
                a.Op(ILOpCode.And, 2, 1);
                Constant(2);
                a.Op(ILOpCode.Or, 2, 1);
                a.Token(ILOpCode.Newarr, 1, 1, kind.Element.Token);
                break;
            default:
                AnyObject(depth);
                break;
        }
    }

    /// <summary>Usually replaces a null on the stack with another object.</summary>
    void OrElse(Kind kind)
    {
        if (r.Percent(8))
            return;
        var end = new Mark();
        a.Op(ILOpCode.Dup, 1, 2);
        a.Branch(ILOpCode.Brtrue, 1, end);
        a.Op(ILOpCode.Pop, 1, 0);
        Leaf(kind, false);
        a.Set(end);
    }

    void AnyObject(int depth)
    {
        switch (r.Below(6))
        {
            case 0:
                Value(r.Of(new[] { kinds.Str, kinds.Node, kinds.Ints, kinds.Objs, kinds.Pts }), depth);
                break;
            case 1:
                Value(kinds.Objs, depth);
                Index(depth);
                a.Op(ILOpCode.Ldelem_ref, 2, 1);
                break;
            case 2:
                Value(kinds.Node, depth);
                a.Token(ILOpCode.Ldfld, 1, 1, tokens.Field(tokens.Ground("Node"), "O", kinds.Obj.Sig));
                break;
            case 3:
                Address(kinds.Obj, depth, false, true);
                LoadThrough(kinds.Obj);
                break;
            default:
                Boxed(OwnVariable() ?? r.Of(new[] { kinds.I4, kinds.I8, kinds.R8, kinds.Pt, kinds.Pair }), depth);
                break;
        }
    }

    /// <summary>A constrained call on a type parameter's value, without boxing.</summary>
    bool AsText(Kind variable)
    {
        var places = LocalsOf(variable);
        // Runtimes format floats differently, and Var is sometimes R8.
        if (places.Count == 0)
            return false;
        LoadLocalAddress(r.Of(places));
        a.Token(ILOpCode.Constrained, 0, 0, variable.Token);
        a.Token(
            ILOpCode.Callvirt, 1, 1, tokens.Member(tokens.System("Object"), "ToString", new byte[] { 0x20, 0, 0x0E }));
        return true;
    }

    void Structure(Kind kind, int depth)
    {
        if (kind == kinds.Span)
        {
            Spanned(depth);
            return;
        }
        if (kind != kinds.Pt)
        {
            Assembled(kind, depth);
            return;
        }
        switch (r.Below(5))
        {
            case 0:
                Value(kinds.Pts, depth);
                Index(depth);
                a.Token(ILOpCode.Ldelem, 2, 1, kind.Token);
                break;
            case 1:
                Address(kind, depth, false, true);
                a.Token(ILOpCode.Ldobj, 1, 1, kind.Token);
                break;
            case 2:
                Boxed(kind, depth);
                a.Token(ILOpCode.Unbox_any, 1, 1, kind.Token);
                break;
            default:
                Value(kinds.I4, depth);
                Value(kinds.I8, depth);
                a.Token(
                    ILOpCode.Newobj, 2, 1,
                    tokens.Member(kind.Token, ".ctor", new byte[] { 0x20, 2, 0x01, 0x08, 0x0A }));
                break;
        }
    }

    /// <summary>A value type field by field.</summary>
    void Assembled(Kind kind, int depth)
    {
        int local = Local(kind);
        LoadLocalAddress(local);
        a.Token(ILOpCode.Initobj, 1, 0, kind.Token);
        var fields = kind == kinds.Mixed
            ? new[] { ("O", kinds.Obj, kinds.Obj.Sig), ("S", kinds.I2, kinds.I2.Sig), ("D", kinds.R8, kinds.R8.Sig) }
            : new[] { ("First", kinds.I4, new byte[] { 0x13, 0 }), ("Second", kinds.Str, new byte[] { 0x13, 1 }) };
        foreach (var (name, type, signature) in fields.Where(_ => r.Percent(70)))
        {
            LoadLocalAddress(local);
            Value(type, depth - 1);
            a.Token(ILOpCode.Stfld, 2, 0, tokens.Field(kind.Token, name, signature));
        }
        LoadLocal(local);
    }
}
