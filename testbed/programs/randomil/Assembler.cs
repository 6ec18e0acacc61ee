using System;
using System.Collections.Generic;
using System.Reflection.Metadata;
using System.Reflection.Metadata.Ecma335;

/// <summary>A position in the code.</summary>
sealed class Mark
{
    /// <summary>Number of the following instruction; -1 until it is set.</summary>
    public int At = -1;
}

/// <summary>
/// Instructions with labels and clauses, laid out at the end: branches are short where possible, except those marked
/// long.
/// </summary>
sealed class Assembler
{
    struct Item
    {
        public ILOpCode Op;
        public int Size;        // size of the operand in bytes; -1 for a branch, -2 for a switch
        public long Operand;
        public Mark[] Targets;
        public bool Long;
    }

    struct Clause
    {
        public ExceptionRegionKind Kind;
        public Mark TryStart, TryEnd, HandlerStart, HandlerEnd, Filter;
        public int Class;
    }

    readonly List<Item> items = new List<Item>();
    readonly List<Clause> clauses = new List<Clause>();

    /// <summary>Values on the stack here.</summary>
    public int Depth { get; set; }

    /// <summary>Most values on the stack so far.</summary>
    public int MaxDepth { get; private set; }

    public int Count => items.Count;

    public void Op(ILOpCode op, int pops, int pushes) => Add(new Item { Op = op }, pops, pushes);

    /// <summary>An instruction with an operand of the given size in bytes.</summary>
    public void Op(ILOpCode op, int pops, int pushes, int size, long operand) =>
        Add(new Item { Op = op, Size = size, Operand = operand }, pops, pushes);

    public void Token(ILOpCode op, int pops, int pushes, int token) => Op(op, pops, pushes, 4, token);

    /// <summary>A branch, given in its long form.</summary>
    public void Branch(ILOpCode op, int pops, Mark target, bool forceLong = false) =>
        Add(new Item { Op = op, Size = -1, Targets = new[] { target }, Long = forceLong }, pops, 0);

    public void Switch(Mark[] targets) => Add(new Item { Op = ILOpCode.Switch, Size = -2, Targets = targets }, 1, 0);

    public void Set(Mark mark) => mark.At = items.Count;

    public Mark Here() => new Mark { At = items.Count };

    public void Protect(ExceptionRegionKind kind, Mark tryStart, Mark tryEnd, Mark start, Mark end, Mark filter, int type) =>
        clauses.Add(new Clause
        {
            Kind = kind, TryStart = tryStart, TryEnd = tryEnd, HandlerStart = start, HandlerEnd = end, Filter = filter,
            Class = type
        });

    void Add(Item item, int pops, int pushes)
    {
        Depth -= pops;
        if (Depth < 0)
            throw new InvalidOperationException("taken from an empty stack by " + item.Op);
        Depth += pushes;
        MaxDepth = Math.Max(MaxDepth, Depth);
        items.Add(item);
    }

    /// <summary>Writes the body and returns its offset.</summary>
    public int Write(MethodBodyStreamEncoder bodies, StandaloneSignatureHandle locals, bool initLocals, int maxStack, bool fat)
    {
        int[] offsets = Layout();
        byte[] code = Encode(offsets);
        bool small = !fat && ExceptionRegionEncoder.IsSmallRegionCount(clauses.Count);
        foreach (Clause clause in clauses)
        {
            small &= Small(offsets, clause.TryStart, clause.TryEnd) && Small(offsets, clause.HandlerStart, clause.HandlerEnd);
        }
        MethodBodyStreamEncoder.MethodBody body = bodies.AddMethodBody(
            code.Length, maxStack, clauses.Count, small, locals,
            initLocals ? MethodBodyAttributes.InitLocals : MethodBodyAttributes.None);
        new BlobWriter(body.Instructions).WriteBytes(code);
        ExceptionRegionEncoder regions = body.ExceptionRegions;
        foreach (Clause clause in clauses)
        {
            int start = offsets[clause.TryStart.At], handler = offsets[clause.HandlerStart.At];
            regions.Add(
                clause.Kind, start, offsets[clause.TryEnd.At] - start, handler, offsets[clause.HandlerEnd.At] - handler,
                clause.Class == 0 ? default : MetadataTokens.EntityHandle(clause.Class),
                clause.Filter == null ? 0 : offsets[clause.Filter.At]);
        }
        return body.Offset;
    }

    static bool Small(int[] offsets, Mark start, Mark end) =>
        ExceptionRegionEncoder.IsSmallExceptionRegion(offsets[start.At], offsets[end.At] - offsets[start.At]);

    int[] Layout()
    {
        var offsets = new int[items.Count + 1];
        bool grown = true;
        while (grown)
        {
            for (int i = 0; i < items.Count; i++)
                offsets[i + 1] = offsets[i] + SizeOf(items[i]);
            grown = false;
            for (int i = 0; i < items.Count; i++)
            {
                Item item = items[i];
                if (item.Size != -1 || item.Long)
                    continue;
                int distance = offsets[item.Targets[0].At] - offsets[i + 1];
                if (distance < sbyte.MinValue || distance > sbyte.MaxValue)
                {
                    item.Long = true;
                    items[i] = item;
                    grown = true;
                }
            }
        }
        return offsets;
    }

    static int SizeOf(Item item)
    {
        int opcode = (int)item.Op > 0xFF ? 2 : 1;
        switch (item.Size)
        {
            case -1:
                return opcode + (item.Long ? 4 : 1);
            case -2:
                return opcode + 4 + 4 * item.Targets.Length;
            default:
                return opcode + item.Size;
        }
    }

    byte[] Encode(int[] offsets)
    {
        var code = new BlobBuilder();
        for (int i = 0; i < items.Count; i++)
        {
            Item item = items[i];
            ILOpCode op = item.Size == -1 && !item.Long ? item.Op.GetShortBranch() : item.Op;
            if ((int)op > 0xFF)
                code.WriteByte((byte)((int)op >> 8));
            code.WriteByte((byte)op);
            switch (item.Size)
            {
                case -1:
                    int distance = offsets[item.Targets[0].At] - offsets[i + 1];
                    if (item.Long)
                        code.WriteInt32(distance);
                    else
                        code.WriteSByte((sbyte)distance);
                    break;
                case -2:
                    code.WriteInt32(item.Targets.Length);
                    foreach (Mark target in item.Targets)
                        code.WriteInt32(offsets[target.At] - offsets[i + 1]);
                    break;
                default:
                    for (int n = 0; n < item.Size; n++)
                        code.WriteByte((byte)(item.Operand >> (8 * n)));
                    break;
            }
        }
        return code.ToArray();
    }
}
