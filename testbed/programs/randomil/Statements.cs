using System.Collections.Generic;
using System.Linq;
using System.Reflection.Metadata;

sealed partial class MethodWriter
{
    static readonly ILOpCode[] Comparisons =
    {
        ILOpCode.Beq, ILOpCode.Bge, ILOpCode.Bgt, ILOpCode.Ble, ILOpCode.Blt, ILOpCode.Bne_un, ILOpCode.Bge_un,
        ILOpCode.Bgt_un, ILOpCode.Ble_un, ILOpCode.Blt_un
    };

    void Block(Scope scope, int depth)
    {
        for (int i = 1 + r.Below(3); i > 0; i--)
            Statement(scope, depth - 1);
    }

    /// <summary>A statement; the stack is empty before and after it.</summary>
    void Statement(Scope scope, int depth)
    {
        budget -= 2;
        if (depth <= 0 || budget <= 0)
        {
            Simple();
            return;
        }
        switch (r.Below(20))
        {
            case 0:
            case 1:
            case 2:
                If(scope, depth);
                break;
            case 3:
                Cases(scope, depth);
                break;
            case 4:
            case 5:
                if (scope.Loops < 2)
                    Loop(scope, depth);
                break;
            case 6:
            case 7:
            case 8:
                Protected(scope, depth);
                break;
            case 9:
            case 10:
                Escape(scope);
                break;
            case 11:
            case 12:
                CallStatement();
                break;
            case 13:
                if (!scope.IsProtected && scope.CanReturn)
                    LastCall();
                break;
            default:
                Simple();
                break;
        }
    }

    /// <summary>A statement without nested ones.</summary>
    void Simple()
    {
        switch (r.Below(9))
        {
            case 0:
            case 1:
                Kind mixed = r.Of(kinds.Plain);
                Value(mixed, 3);
                Mix(mixed);
                break;
            case 2:
                StoreElement();
                break;
            case 3:
                StoreField();
                break;
            case 4:
                StoreThrough();
                break;
            case 5:
                Odd();
                break;
            default:
                Store(3);
                break;
        }
    }

    /// <summary>Assigns a value to a local or an argument.</summary>
    void Store(int depth)
    {
        List<int> places = Enumerable.Range(0, arguments.Count).Where(i => arguments[i] != null).ToList();
        if (places.Count > 0 && (variables.Count == 0 || r.Percent(25)))
        {
            int argument = r.Of(places);
            Value(arguments[argument], depth);
            if (argument < 256 && r.Percent(80))
                a.Op(ILOpCode.Starg_s, 1, 0, 1, argument);
            else
                a.Op(ILOpCode.Starg, 1, 0, 2, argument);
        }
        else if (variables.Count > 0)
        {
            int local = r.Of(variables);
            Kind kind = locals[local];
            if ((kind.Cat == Cat.Value || kind.Cat == Cat.Var) && r.Percent(20))
            {
                LoadLocalAddress(local);
                a.Token(ILOpCode.Initobj, 1, 0, kind.Token);
                return;
            }
            Value(kind, depth);
            StoreLocal(local);
        }
    }

    void StoreElement()
    {
        Kind array = r.Of(new[] { kinds.Ints, kinds.Objs, kinds.Pts });
        Value(array, 1);
        Index(1);
        Value(array.Element, 2);
        if (array == kinds.Ints && r.Percent(60))
            a.Op(ILOpCode.Stelem_i4, 3, 0);
        else if (array == kinds.Objs && r.Percent(60))
            a.Op(ILOpCode.Stelem_ref, 3, 0);
        else
            a.Token(ILOpCode.Stelem, 3, 0, array.Element.Token);
    }

    void StoreField()
    {
        if (r.Percent(45))
        {
            var (name, kind) = r.Of(Statics());
            Value(kind, 3);
            if (r.Percent(10))
                a.Op(ILOpCode.Volatile, 0, 0);
            a.Token(ILOpCode.Stsfld, 1, 0, tokens.Field(state, name, kind.Sig));
        }
        else if (me.Owner.IsValueType && !me.IsStatic && r.Percent(60))
        {
            LoadArgument(0);
            Value(kinds.I4, 2);
            a.Token(ILOpCode.Stfld, 2, 0, OwnField());
        }
        else
        {
            var (name, kind) = r.Of(Fields());
            Value(kinds.Node, 1);
            Value(kind, 2);
            a.Token(ILOpCode.Stfld, 2, 0, tokens.Field(tokens.Ground("Node"), name, kind.Sig));
        }
    }

    /// <summary>The field of this method's value type.</summary>
    int OwnField() => me.Owner.IsGeneric
        ? tokens.Field(kinds.Type(me.Owner, kinds.TypeVar).Token, "F", kinds.I4.Sig)
        : me.Owner.Field;

    void StoreThrough()
    {
        Kind kind = r.Of(new[] { kinds.I4, kinds.I8, kinds.Obj, kinds.Pt });
        Address(kind, 2, false);
        if (kind == kinds.Pt && r.Percent(30))
        {
            Address(kind, 1, false);
            a.Token(ILOpCode.Cpobj, 2, 0, kind.Token);
            return;
        }
        Value(kind, 2);
        if (r.Percent(10))
            a.Op(ILOpCode.Volatile, 0, 0);
        if (kind == kinds.Pt || r.Percent(25))
            a.Token(ILOpCode.Stobj, 2, 0, kind.Token);
        else
            a.Op(
                kind == kinds.I4 ? ILOpCode.Stind_i4 : kind == kinds.I8 ? ILOpCode.Stind_i8 : ILOpCode.Stind_ref, 2, 0);
    }

    /// <summary>Instructions that compilers rarely write.</summary>
    void Odd()
    {
        switch (r.Below(8))
        {
            case 0:
                a.Op(ILOpCode.Nop, 0, 0);
                break;
            case 4:
                Pin();
                break;
            case 5:
                Blocks();
                break;
            case 6:
                Address(kinds.I8, 1, false);
                a.Token(ILOpCode.Mkrefany, 1, 1, kinds.I8.Token);
                a.Op(ILOpCode.Refanytype, 1, 1);
                Mixer(kinds.TypeHandle);
                break;
            case 1:
                Constant(r.Below(1000));
                a.Op(ILOpCode.Dup, 1, 2);
                a.Op(ILOpCode.Pop, 1, 0);
                a.Op(ILOpCode.Pop, 1, 0);
                break;
            case 2:
                a.Token(ILOpCode.Ldtoken, 0, 1, r.Of(kinds.Plain.Where(kind => kind.Token != 0).ToList()).Token);
                a.Op(ILOpCode.Pop, 1, 0);
                break;
            case 3:
                Address(kinds.I8, 1, false);
                a.Token(ILOpCode.Mkrefany, 1, 1, kinds.I8.Token);
                a.Token(ILOpCode.Refanyval, 1, 1, kinds.I8.Token);
                a.Op(ILOpCode.Ldind_i8, 1, 1);
                Mix(kinds.I8);
                break;
            default:
                var over = new Mark();
                a.Branch(ILOpCode.Br, 0, over, r.Percent(50));
                for (int i = r.Below(100); i > 0; i--)
                    a.Op(ILOpCode.Nop, 0, 0);
                a.Set(over);
                break;
        }
    }

    /// <summary>Branches to `target` or not, by two values or one.</summary>
    void Condition(Mark target, int depth)
    {
        if (r.Percent(40))
        {
            Value(r.Percent(70) ? kinds.I4 : r.Percent(50) ? kinds.Obj : kinds.I8, depth);
            a.Branch(r.Percent(50) ? ILOpCode.Brtrue : ILOpCode.Brfalse, 1, target, r.Percent(10));
            return;
        }
        Kind kind = r.Of(new[] { kinds.I4, kinds.I4, kinds.I8, kinds.R8, kinds.Native, kinds.Obj });
        Value(kind, depth);
        Value(kind, depth);
        ILOpCode op = kind == kinds.Obj
            ? (r.Percent(50) ? ILOpCode.Beq : ILOpCode.Bne_un)
            : r.Of(Comparisons);
        a.Branch(op, 2, target, r.Percent(10));
    }

    void If(Scope scope, int depth)
    {
        Mark other = new Mark(), end = new Mark();
        Condition(other, 2);
        Block(scope, depth);
        if (r.Percent(50))
        {
            a.Branch(ILOpCode.Br, 0, end, r.Percent(10));
            a.Set(other);
            Block(scope, depth);
            a.Set(end);
        }
        else
            a.Set(other);
    }

    void Cases(Scope scope, int depth)
    {
        Mark[] cases = Enumerable.Range(0, 1 + r.Below(5)).Select(_ => new Mark()).ToArray();
        Mark end = new Mark();
        int values = r.Percent(4) ? 256 + r.Below(256) : 1 + r.Below(8);
        Value(kinds.I4, 2);
        Constant(values > 8 ? 511 : 7);
        a.Op(ILOpCode.And, 2, 1);
        // Several values may share one case.
        a.Switch(Enumerable.Range(0, values).Select(_ => r.Of(cases)).Concat(cases).ToArray());
        Block(scope, depth - 1);
        foreach (Mark one in cases)
        {
            // Otherwise it falls through.
            if (r.Percent(75))
                a.Branch(ILOpCode.Br, 0, end, r.Percent(10));
            a.Set(one);
            Block(scope, depth - 1);
        }
        a.Set(end);
    }

    void Loop(Scope scope, int depth)
    {
        int round = Local(kinds.I4);
        Mark head = new Mark(), next = new Mark(), test = new Mark();
        Scope inside = scope.Copy();
        inside.Loops++;
        inside.Continue = next;
        inside.ContinueByLeave = false;
        Constant(0);
        StoreLocal(round);
        bool testFirst = r.Percent(50);
        if (testFirst)
            a.Branch(ILOpCode.Br, 0, test, r.Percent(10));
        a.Set(head);
        Block(inside, depth);
        a.Set(next);
        LoadLocal(round);
        Constant(1);
        a.Op(ILOpCode.Add, 2, 1);
        StoreLocal(round);
        a.Set(test);
        LoadLocal(round);
        Constant(1 + r.Below(4));
        a.Branch(r.Percent(50) ? ILOpCode.Blt : ILOpCode.Blt_un, 2, head, r.Percent(10));
    }

    /// <summary>Under a condition: return, continue, throw, leave, or an instruction that only a handler allows.</summary>
    void Escape(Scope scope)
    {
        var stays = new Mark();
        Condition(stays, 2);
        switch (r.Below(5))
        {
            case 0 when scope.Continue != null:
                if (scope.ContinueByLeave)
                    Leave(scope.Continue);
                else
                    a.Branch(ILOpCode.Br, 0, scope.Continue, r.Percent(10));
                break;
            case 1 when scope.Exits.Count > 0:
                Leave(r.Of(scope.Exits));
                break;
            case 2 when scope.IsCatch:
                a.Op(ILOpCode.Rethrow, 0, 0);
                break;
            case 2 when scope.IsFinally:
                a.Op(ILOpCode.Endfinally, 0, 0);
                break;
            case 3:
                Throw();
                break;
            default:
                if (scope.CanReturn)
                    EarlyReturn(scope);
                else
                    Throw();
                break;
        }
        a.Set(stays);
    }

    void EarlyReturn(Scope scope)
    {
        if (me.Returns != null)
            Value(me.Returns, 2, returned: true);
        if (!scope.IsProtected && r.Percent(60))
        {
            a.Op(ILOpCode.Ret, a.Depth, 0);
            return;
        }
        if (me.Returns != null)
            StoreLocal(Result());
        returnIsShared = true;
        if (scope.IsProtected)
            Leave(returns);
        else
            a.Branch(ILOpCode.Br, 0, returns, r.Percent(10));
    }

    /// <summary>Mixes a value from the stack into the hash.</summary>
    void Mix(Kind kind)
    {
        switch (kind.Cat)
        {
            case Cat.I4:
                Mixer(kinds.I4);
                break;
            case Cat.I8:
                Mixer(kinds.I8);
                break;
            case Cat.Native:
                a.Op(ILOpCode.Conv_i8, 1, 1);
                Mixer(kinds.I8);
                break;
            case Cat.Float:
                a.Op(ILOpCode.Conv_r8, 1, 1);
                Mixer(kinds.R8);
                break;
            case Cat.Object:
                Mixer(kinds.Obj);
                break;
            case Cat.Ref:
                LoadThrough(kind.Element);
                Mix(kind.Element);
                break;
            case Cat.Var:
                a.Token(ILOpCode.Box, 1, 1, kind.Token);
                Mixer(kinds.Obj);
                break;
            default:
                Mixer(kind);
                break;
        }
    }

    void Mixer(Kind kind) => a.Token(
        ILOpCode.Call, 1, 0, tokens.Member(state, "Mix", new byte[] { 0, 1, 0x01 }.Concat(kind.Sig).ToArray()));
}
