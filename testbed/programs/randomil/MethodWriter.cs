using System;
using System.Collections.Generic;
using System.Linq;
using System.Reflection.Metadata;
using System.Reflection.Metadata.Ecma335;

/// <summary>
/// Writes the body of one method: it counts its entry, then random statements follow. Cases that ECMA-335 leaves
/// undefined (shifts beyond the width, divisions by -1, conversions of too large floats) are not written.
/// </summary>
sealed partial class MethodWriter
{
    readonly Tokens tokens;
    readonly Kinds kinds;
    readonly Planned me;
    readonly IReadOnlyList<Planned> all;
    readonly int firstIndex;
    readonly Rng r;
    readonly Assembler a = new Assembler();
    readonly List<Kind> locals = new List<Kind>();
    /// <summary>Locals that statements may change; the others have a fixed purpose.</summary>
    readonly List<int> variables = new List<int>();
    /// <summary>Arguments by number, including `this` (null, because nothing may change it).</summary>
    readonly List<Kind> arguments = new List<Kind>();
    readonly int state;
    /// <summary>Remaining budget of statements.</summary>
    int budget;
    bool initLocals;
    int result = -1;
    readonly Mark returns = new Mark();

    public MethodWriter(
        Tokens tokens, Kinds kinds, Planned me, IReadOnlyList<Planned> all, int firstIndex, Rng rng)
    {
        this.tokens = tokens;
        this.kinds = kinds;
        this.me = me;
        this.all = all;
        this.firstIndex = firstIndex;
        r = rng;
        state = tokens.Ground("State");
        if (!me.IsStatic)
            arguments.Add(null);
        arguments.AddRange(me.Params);
    }

    /// <summary>Writes the body and returns its offset.</summary>
    public int Write(MethodBodyStreamEncoder bodies)
    {
        budget = me.IsTiny ? 6 : 12 + r.Below(50);
        initLocals = r.Percent(80);
        if (!me.IsTiny && !me.IsTypeInitializer)
            for (int i = r.Below(8); i >= 0; i--)
                variables.Add(Local(Variable()));
        int form = me.IsConstructor ? 6 : me.IsTiny || me.IsTypeInitializer ? 0 : r.Below(10);
        // 2.1 may keep the lock of a method that starts with a protected block (also without the agent).
        if (me.IsSynchronized && form == 8)
            form = 0;
        switch (form)
        {
            case 6 when me.IsConstructor:
                Construct();
                break;
            case 7:
                LoopFromTheStart();
                break;
            case 8:
                ProtectedFromTheStart();
                break;
            case 9:
                EndFirst();
                break;
            default:
                CountEntry();
                Prepare();
                Body(Scope.Outermost);
                End();
                break;
        }
        return Finish(bodies);
    }

    int Finish(MethodBodyStreamEncoder bodies)
    {
        var blob = new BlobBuilder();
        blob.WriteByte(0x07);
        blob.WriteCompressedInteger(locals.Count);
        foreach (Kind local in locals)
            blob.WriteBytes(local.Sig);
        StandaloneSignatureHandle signature = locals.Count == 0
            ? default
            : (StandaloneSignatureHandle)MetadataTokens.EntityHandle(tokens.Signature(blob.ToArray()));
        return a.Write(bodies, signature, initLocals, a.MaxDepth + (r.Percent(10) ? r.Below(20) : 0), r.Percent(15));
    }

    Kind Variable()
    {
        Kind own = OwnVariable();
        return own != null && r.Percent(30) ? own : r.Of(kinds.Plain);
    }

    /// <summary>The type parameter in scope, if there is one.</summary>
    Kind OwnVariable() =>
        me.IsGeneric ? kinds.MethodVar : me.Owner.IsGeneric ? kinds.TypeVar : null;

    int Local(Kind kind)
    {
        locals.Add(kind);
        return locals.Count - 1;
    }

    /// <summary>Truth[index]++, as one uninterrupted sequence of instructions.</summary>
    void CountEntry()
    {
        a.Token(ILOpCode.Ldsfld, 0, 1, tokens.Field(state, "Truth", kinds.Ints.Sig));
        Constant(me.Index);
        a.Token(ILOpCode.Ldelema, 2, 1, kinds.I4.Token);
        a.Op(ILOpCode.Dup, 1, 2);
        a.Op(ILOpCode.Ldind_i4, 1, 1);
        Constant(1);
        a.Op(ILOpCode.Add, 2, 1);
        a.Op(ILOpCode.Stind_i4, 2, 0);
    }

    /// <summary>Like CountEntry at a branch target: only while a local is zero, which it no longer is later.</summary>
    void CountFirstEntry()
    {
        initLocals = true;
        int entered = Local(kinds.I4);
        var counted = new Mark();
        LoadLocal(entered);
        a.Branch(ILOpCode.Brtrue, 1, counted);
        CountEntry();
        Constant(1);
        StoreLocal(entered);
        a.Set(counted);
    }

    /// <summary>Initialises variables, all of them if locals are not zeroed.</summary>
    void Prepare()
    {
        if (me.IsSynchronized)
            Held();
        // In order, so that each may use the ones before.
        int[] wanted = variables.ToArray();
        variables.Clear();
        foreach (int local in wanted)
        {
            bool mayBeNull = locals[local].Cat == Cat.Ref || locals[local].Cat == Cat.Object;
            if (!initLocals || r.Percent(mayBeNull ? 97 : 60))
            {
                Value(locals[local], 1);
                StoreLocal(local);
            }
            variables.Add(local);
        }
        if (!me.IsTiny && !me.IsConstructor && !me.IsTypeInitializer && r.Percent(4))
            Allocate();
    }

    /// <summary>Checks the lock that this method must hold.</summary>
    void Held()
    {
        Kind locked = me.IsStatic ? kinds.TypeHandle : kinds.Obj;
        if (me.IsStatic)
            a.Token(ILOpCode.Ldtoken, 0, 1, kinds.Type(me.Owner, kinds.TypeVar).Token);
        else
            LoadArgument(0);
        a.Token(
            ILOpCode.Call, 1, 0, tokens.Member(state, "Held", new byte[] { 0, 1, 0x01 }.Concat(locked.Sig).ToArray()));
    }

    void Body(Scope scope)
    {
        if (me.IsTypeInitializer)
            return;
        for (int i = me.IsTiny ? r.Below(2) : 2 + r.Below(5); i > 0; i--)
            Statement(scope, 3);
        while (me.IsHuge && a.Count < 26000)
        {
            budget = 60;
            Statement(scope, 3);
        }
    }

    /// <summary>The method's end, including the shared return that branches target.</summary>
    void End()
    {
        if (me.Returns != null)
            Value(me.Returns, 2, returned: true);
        if (returnIsShared)
        {
            if (me.Returns != null)
                StoreLocal(Result());
            Return();
        }
        else
            a.Op(ILOpCode.Ret, a.Depth, 0);
    }

    /// <summary>Returns whether anything branches to the shared return.</summary>
    bool returnIsShared;

    void Return()
    {
        a.Set(returns);
        a.Depth = 0;
        if (me.Returns != null)
            LoadLocal(Result());
        a.Op(ILOpCode.Ret, a.Depth, 0);
    }

    /// <summary>The local that holds a value for the shared return.</summary>
    int Result()
    {
        if (result < 0)
            result = Local(me.Returns);
        return result;
    }

    /// <summary>A constructor. It never throws; otherwise none of the type's methods would ever run.</summary>
    void Construct()
    {
        initLocals = true;
        CountEntry();
        LoadArgument(0);
        int parent = tokens.Ground("Node");
        if (r.Percent(50))
            a.Token(ILOpCode.Call, 1, 0, tokens.Member(parent, ".ctor", new byte[] { 0x20, 0, 0x01 }));
        else
        {
            Leaf(kinds.I4, false);
            a.Token(ILOpCode.Call, 2, 0, tokens.Member(parent, ".ctor", new byte[] { 0x20, 1, 0x01, 0x08 }));
        }
        Mark start = a.Here(), after = new Mark();
        Scope inside = Scope.Outermost.Copy();
        inside.IsProtected = true;
        Prepare();
        Body(inside);
        Leave(after);
        Mark handler = a.Here();
        a.Depth = 1;
        TakeException();
        Leave(after);
        a.Protect(ExceptionRegionKind.Catch, start, handler, handler, a.Here(), null, kinds.Obj.Token);
        a.Set(after);
        End();
    }

    /// <summary>The first instruction is the target of a backward branch.</summary>
    void LoopFromTheStart()
    {
        Mark head = a.Here();
        CountFirstEntry();
        int round = Local(kinds.I4);
        Prepare();
        Body(Scope.Outermost);
        LoadLocal(round);
        Constant(1);
        a.Op(ILOpCode.Add, 2, 1);
        a.Op(ILOpCode.Dup, 1, 2);
        StoreLocal(round);
        Constant(2 + r.Below(2));
        a.Branch(ILOpCode.Blt, 2, head, r.Percent(30));
        End();
    }

    /// <summary>The first instruction is the first of a protected block.</summary>
    void ProtectedFromTheStart()
    {
        initLocals = true;
        Protected(Scope.Outermost, 3, () =>
        {
            CountEntry();
            Prepare();
        });
        Body(Scope.Outermost);
        End();
    }

    /// <summary>The return comes first, and the last clause ends at the end of the code.</summary>
    void EndFirst()
    {
        var start = new Mark();
        a.Branch(ILOpCode.Br, 0, start, r.Percent(30));
        if (me.Returns != null)
            initLocals = true;
        Return();
        a.Set(start);
        CountEntry();
        Prepare();
        Body(Scope.Outermost);
        if (me.Returns != null)
        {
            Value(me.Returns, 1, returned: true);
            StoreLocal(Result());
        }
        Protected(Scope.Outermost, 2, null, returns);
    }

    /// <summary>A method that calls each method of a type by number: Run.R(number, x).</summary>
    public int WriteRun(MethodBodyStreamEncoder bodies, Owner owner)
    {
        initLocals = true;
        CountEntry();
        Mark[] cases = owner.Methods.Select(_ => new Mark()).ToArray();
        LoadArgument(0);
        a.Switch(cases);
        a.Op(ILOpCode.Ret, 0, 0);
        for (int i = 0; i < cases.Length; i++)
        {
            a.Set(cases[i]);
            budget = 20;
            Planned method = owner.Methods[i];
            if (!method.IsTypeInitializer)
            {
                // Arguments that cannot throw, so that every method is entered.
                Kind returned = Call(method, 0);
                if (returned != null)
                    Mix(returned);
            }
            a.Op(ILOpCode.Ret, 0, 0);
        }
        return Finish(bodies);
    }
}

/// <summary>The context of a statement: the ways to leave it.</summary>
sealed class Scope
{
    public static readonly Scope Outermost = new Scope { CanReturn = true };

    /// <summary>Within a protected block or a handler.</summary>
    public bool IsProtected;
    public bool CanReturn;
    /// <summary>Directly in a catch handler, where rethrow is allowed.</summary>
    public bool IsCatch;
    /// <summary>Directly in a finally or fault handler, where endfinally is allowed.</summary>
    public bool IsFinally;
    /// <summary>Possible targets of leave.</summary>
    public List<Mark> Exits = new List<Mark>();
    /// <summary>The next iteration of the innermost loop, and whether it needs leave.</summary>
    public Mark Continue;
    public bool ContinueByLeave;
    public int Loops;

    public Scope Copy()
    {
        var copy = (Scope)MemberwiseClone();
        copy.Exits = new List<Mark>(Exits);
        return copy;
    }
}
