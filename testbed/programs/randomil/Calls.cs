using System.Collections.Generic;
using System.Linq;
using System.Reflection.Metadata;

sealed partial class MethodWriter
{
    /// <summary>Largest distance to a callee.</summary>
    const int Reach = 60;

    /// <summary>Returns an earlier method, so that calls form no cycle, or null if there is none.</summary>
    Planned Callee()
    {
        int own = me.Index - firstIndex;
        if (own == 0)
            return null;
        Planned callee = all[own - 1 - r.Below(System.Math.Min(own, Reach))];
        return callee.IsTypeInitializer || callee.IsConstructor || callee.IsHuge ? null : callee;
    }

    /// <summary>The argument for the callee's type parameter, if it has one.</summary>
    Kind Argument(Planned callee)
    {
        if (!callee.IsGeneric && !callee.Owner.IsGeneric)
            return null;
        Kind own = OwnVariable();
        return own != null && r.Percent(40) ? own : r.Of(kinds.Arguments);
    }

    static Kind Meant(Kind kind, Kind argument) => argument != null && kind?.Cat == Cat.Var ? argument : kind;

    /// <summary>Writes a call with its arguments; returns the kind that it leaves on the stack, null for void.</summary>
    Kind Call(Planned callee, int depth) => Call(callee, depth, Argument(callee), false);

    Kind Call(Planned callee, int depth, Kind argument, bool last)
    {
        Kind returned = Meant(callee.Returns, argument);
        int taken = callee.Params.Length + (callee.IsStatic ? 0 : 1);
        bool plain = callee.IsStatic && argument == null;
        if (!last && plain && callee.Returns == kinds.I4 && callee.Params.SequenceEqual(new[] { kinds.I4 }) && r.Percent(50))
        {
            ThroughDelegate(callee, depth);
            return returned;
        }
        if (callee.IsConstructor)
            returned = kinds.Node;
        else if (!callee.IsStatic)
            This(callee, argument);
        foreach (Kind parameter in callee.Params)
            Value(Meant(parameter, argument), depth - 1);
        int pushes = returned == null ? 0 : 1;
        if (callee.IsConstructor)
        {
            a.Token(ILOpCode.Newobj, taken - 1, 1, TokenOf(callee, argument));
            return returned;
        }
        if (!last && plain && r.Percent(12))
        {
            a.Token(ILOpCode.Ldftn, 0, 1, callee.Token);
            a.Token(ILOpCode.Calli, taken + 1, pushes, tokens.Signature(callee.Signature()));
            return returned;
        }
        if (last)
            a.Op(ILOpCode.Tail, 0, 0);
        bool isVirtual = callee.IsVirtual || (!callee.IsStatic && callee.Owner.IsClass && r.Percent(50));
        a.Token(isVirtual ? ILOpCode.Callvirt : ILOpCode.Call, taken, pushes, TokenOf(callee, argument));
        return returned;
    }

    int TokenOf(Planned callee, Kind argument)
    {
        if (callee.IsGeneric)
            return tokens.MethodSpec(callee.Token, argument.Sig);
        return callee.Owner.IsGeneric
            ? tokens.Member(kinds.Type(callee.Owner, argument).Token, callee.Name, callee.Signature())
            : callee.Token;
    }

    void This(Planned callee, Kind argument)
    {
        bool isMine = callee.Owner == me.Owner && (!me.Owner.IsGeneric || argument == kinds.TypeVar);
        if (isMine && !me.IsStatic && r.Percent(50))
        {
            LoadArgument(0);
            return;
        }
        if (callee.Owner.IsClass)
        {
            Value(kinds.I4, 0);
            a.Token(ILOpCode.Newobj, 1, 1, TokenOf(callee.Owner.Constructor, argument));
            return;
        }
        Kind type = kinds.Type(callee.Owner, argument);
        int local = Local(type);
        LoadLocalAddress(local);
        a.Token(ILOpCode.Initobj, 1, 0, type.Token);
        LoadLocalAddress(local);
    }

    void ThroughDelegate(Planned callee, int depth)
    {
        a.Op(ILOpCode.Ldnull, 0, 1);
        a.Token(ILOpCode.Ldftn, 0, 1, callee.Token);
        InvokeDelegate(depth);
    }

    /// <summary>Creates a delegate of the object and the method on the stack, and calls it.</summary>
    void InvokeDelegate(int depth)
    {
        int type = tokens.Ground("Fn");
        a.Token(ILOpCode.Newobj, 2, 1, tokens.Member(type, ".ctor", new byte[] { 0x20, 2, 0x01, 0x1C, 0x18 }));
        Value(kinds.I4, depth - 1);
        a.Token(ILOpCode.Callvirt, 2, 1, tokens.Member(type, "Invoke", new byte[] { 0x20, 1, 0x08, 0x08 }));
    }

    /// <summary>Checks whether a call is allowed, and branches to `otherwise` if not.</summary>
    void MayCall(Mark otherwise)
    {
        a.Token(ILOpCode.Call, 0, 1, tokens.Member(state, "Burn", new byte[] { 0, 0, 0x02 }));
        a.Branch(ILOpCode.Brfalse, 1, otherwise, r.Percent(5));
    }

    /// <summary>Writes a call that returns a value; false if no suitable method was found.</summary>
    bool CallFor(Kind kind, int depth)
    {
        for (int attempt = 0; attempt < 8; attempt++)
        {
            Planned callee = Callee();
            if (callee?.Returns == null)
                continue;
            Kind argument = Argument(callee);
            if (argument != null && callee.Returns.Cat == Cat.Var && (kind == OwnVariable() || kinds.Arguments.Contains(kind)))
                argument = kind;
            if (Meant(callee.Returns, argument) != kind)
                continue;
            Mark other = new Mark(), end = new Mark();
            MayCall(other);
            Call(callee, depth, argument, false);
            a.Branch(ILOpCode.Br, 0, end, r.Percent(5));
            a.Set(other);
            a.Depth--;
            Leaf(kind, false);
            a.Set(end);
            return true;
        }
        return false;
    }

    void CallStatement()
    {
        Planned callee = Callee();
        if (callee == null)
            return;
        var skip = new Mark();
        MayCall(skip);
        Kind returned = Call(callee, 2);
        if (returned != null && r.Percent(20))
            a.Op(ILOpCode.Pop, 1, 0);
        else if (returned != null)
            Mix(returned);
        a.Set(skip);
    }

    /// <summary>A call as the last action: `tail.` with a return, or `jmp`.</summary>
    void LastCall()
    {
        // A jump must not leave a lock.
        if (me.IsSynchronized)
            return;
        for (int attempt = 0; attempt < 12; attempt++)
        {
            Planned callee = Callee();
            if (callee == null)
                continue;
            Kind argument = Argument(callee);
            // No callee may refer to this frame.
            if (callee.Params.Any(kind => kind.Cat == Cat.Ref) || (!callee.IsStatic && callee.Owner.IsValueType))
                continue;
            var skip = new Mark();
            // Shared generic code takes an additional argument.
            if (argument == null && OwnVariable() == null && callee.IsLike(me) && me.Params.All(Jumps))
            {
                MayCall(skip);
                a.Token(ILOpCode.Jmp, 0, 0, callee.Token);
                a.Set(skip);
                return;
            }
            if (Meant(callee.Returns, argument) != me.Returns)
                continue;
            MayCall(skip);
            Call(callee, 2, argument, true);
            a.Op(ILOpCode.Ret, a.Depth, 0);
            a.Set(skip);
            return;
        }
    }

    static bool Jumps(Kind kind) => kind.Cat != Cat.Value && kind.Cat != Cat.Var && kind.Cat != Cat.Float;
}
