using System;
using System.Collections.Generic;
using System.Reflection.Metadata;

sealed partial class MethodWriter
{
    static readonly string[] Caught =
    {
        "Exception", "Exception", "DivideByZeroException", "OverflowException", "NullReferenceException",
        "InvalidCastException", "IndexOutOfRangeException", "ArithmeticException", "Object"
    };

    /// <summary>
    /// A protected block with its handlers: one to three of catch and filter, or a finally or a fault. It starts with
    /// `beginning`, and leaves to `exit` or to the code after it.
    /// </summary>
    void Protected(Scope scope, int depth, Action beginning = null, Mark exit = null)
    {
        Mark after = exit ?? new Mark();
        Mark start = a.Here();
        Scope inside = scope.Copy();
        inside.IsProtected = true;
        inside.IsCatch = inside.IsFinally = false;
        inside.ContinueByLeave = true;
        // Return statements leave for the method's end, with a value.
        if (exit == null)
            inside.Exits.Add(after);
        beginning?.Invoke();
        Block(inside, depth);
        Leave(after);
        Mark end = a.Here();
        if (r.Percent(35))
            Ending(inside, depth, start, end);
        else
            for (int i = r.Percent(60) ? 1 : 2 + r.Below(2); i > 0; i--)
                Handler(inside, depth, start, end, after);
        if (exit == null)
            a.Set(after);
        a.Depth = 0;
    }

    void Leave(Mark target)
    {
        a.Branch(ILOpCode.Leave, a.Depth, target, r.Percent(25));
        a.Depth = 0;
    }

    void Ending(Scope inside, int depth, Mark start, Mark end)
    {
        Scope scope = inside.Copy();
        scope.CanReturn = false;
        scope.IsFinally = true;
        scope.Exits = new List<Mark>();
        scope.Continue = null;
        Mark handler = a.Here();
        a.Depth = 0;
        Block(scope, depth - 1);
        a.Op(ILOpCode.Endfinally, 0, 0);
        ExceptionRegionKind kind = r.Percent(65) ? ExceptionRegionKind.Finally : ExceptionRegionKind.Fault;
        a.Protect(kind, start, end, handler, a.Here(), null, 0);
    }

    void Handler(Scope inside, int depth, Mark start, Mark end, Mark after)
    {
        Scope scope = inside.Copy();
        scope.IsCatch = true;
        bool filtered = r.Percent(30);
        Mark filter = filtered ? Filter() : null;
        Mark handler = a.Here();
        a.Depth = 1;
        TakeException();
        Block(scope, depth - 1);
        switch (r.Below(12))
        {
            case 0:
                a.Op(ILOpCode.Rethrow, 0, 0);
                break;
            case 1:
                Throw();
                break;
            default:
                Leave(after);
                break;
        }
        int type = filtered ? 0 : r.Percent(20) ? tokens.Ground("Oops") : tokens.System(r.Of(Caught));
        ExceptionRegionKind kind = filtered ? ExceptionRegionKind.Filter : ExceptionRegionKind.Catch;
        a.Protect(kind, start, end, handler, a.Here(), filter, type);
    }

    Mark Filter()
    {
        Mark filter = a.Here();
        a.Depth = 1;
        if (r.Percent(40))
        {
            a.Token(ILOpCode.Isinst, 1, 1, tokens.System(r.Of(Caught)));
            a.Op(ILOpCode.Ldnull, 0, 1);
            a.Op(ILOpCode.Cgt_un, 2, 1);
        }
        else
        {
            TakeException();
            if (r.Percent(40))
                Store(1);
            Value(kinds.I4, 2);
            Constant(r.Below(3));
            a.Op(r.Percent(50) ? ILOpCode.Cgt : ILOpCode.Clt_un, 2, 1);
        }
        a.Op(ILOpCode.Endfilter, 1, 0);
        return filter;
    }

    /// <summary>Uses the exception on the stack.</summary>
    void TakeException()
    {
        List<int> places = LocalsOf(kinds.Obj);
        if (places.Count > 0 && r.Percent(30))
            StoreLocal(r.Of(places));
        else if (r.Percent(25))
            a.Op(ILOpCode.Pop, 1, 0);
        else
            a.Token(ILOpCode.Call, 1, 0, tokens.Member(state, "Caught", new byte[] { 0, 1, 0x01, 0x1C }));
    }

    /// <summary>Throws; nothing follows it.</summary>
    void Throw()
    {
        if (r.Percent(75))
        {
            Value(kinds.I4, 1);
            a.Token(ILOpCode.Newobj, 1, 1, tokens.Member(tokens.Ground("Oops"), ".ctor", new byte[] { 0x20, 1, 0x01, 0x08 }));
        }
        else if (r.Percent(50))
            a.Token(
                ILOpCode.Newobj, 0, 1,
                tokens.Member(tokens.System("DivideByZeroException"), ".ctor", new byte[] { 0x20, 0, 0x01 }));
        else
            a.Op(ILOpCode.Ldnull, 0, 1);
        a.Op(ILOpCode.Throw, 1, 0);
    }
}
