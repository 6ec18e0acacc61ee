// A reader of method bodies independent of Redial's: System.Reflection.Metadata for headers and clauses,
// System.Reflection.Emit's table for instructions.
//
// readil LIST       -> for each file named in LIST, one per line: "file NAME", then for each method with IL
//                      "TOKEN INSTRUCTIONS CLAUSES HASH" (see tests/il_readers.rs), or "TOKEN unreadable WHY"
// readil FILE TOKEN -> that body as text
// readil unbundle PROGRAM FOLDER -> the assemblies of a single-file program, into a folder
using System;
using System.Collections.Generic;
using System.IO;
using System.IO.Compression;
using System.Linq;
using System.Reflection;
using System.Reflection.Emit;
using System.Reflection.Metadata;
using System.Reflection.Metadata.Ecma335;
using System.Reflection.PortableExecutable;
using System.Text;

static class ReadIl
{
    static readonly Dictionary<ushort, OpCode> Table = typeof(OpCodes).GetFields(BindingFlags.Public | BindingFlags.Static)
        .Select(field => (OpCode)field.GetValue(null)).ToDictionary(code => (ushort)code.Value);

    static int Main(string[] args)
    {
        if (args.Length == 1)
        {
            using (var output = new StreamWriter(Console.OpenStandardOutput(), new UTF8Encoding(false), 1 << 16))
                foreach (string file in File.ReadLines(args[0]))
                    All(file, output);
            return 0;
        }
        if (args.Length == 2)
        {
            int token = Convert.ToInt32(args[1], 16);
            WithBodies(args[0], (method, read) =>
            {
                if (MetadataTokens.GetToken(method) == token)
                    new Account(Console.WriteLine).Of(read());
            });
            return 0;
        }
        if (args.Length == 3 && args[0] == "unbundle")
        {
            Unbundle(args[1], args[2]);
            return 0;
        }
        Console.Error.WriteLine("usage: readil LIST | FILE TOKEN | unbundle PROGRAM FOLDER");
        return 2;
    }

    /// <summary>SHA-256 of ".net core bundle"; the eight bytes before it locate the list of files.</summary>
    static readonly byte[] BundleSignature =
    {
        0x8b, 0x12, 0x02, 0xb9, 0x6a, 0x61, 0x20, 0x38, 0x72, 0x7b, 0x93, 0x02, 0x14, 0xd7, 0xa0, 0x32,
        0x13, 0xf5, 0xb9, 0xe6, 0xef, 0xae, 0x33, 0x18, 0xee, 0x3b, 0x2d, 0xce, 0x24, 0xb3, 0x6a, 0xae
    };

    /// <summary>The header of the design document "Single-file bundler" of dotnet/runtime, versions 1, 2 and 6.</summary>
    static void Unbundle(string program, string folder)
    {
        const byte IsAssembly = 1;
        byte[] file = File.ReadAllBytes(program);
        int signature = new ReadOnlySpan<byte>(file).IndexOf(BundleSignature);
        if (signature < 8)
            throw new InvalidDataException(program + " is no bundle");
        using (var list = new BinaryReader(new MemoryStream(file)))
        {
            list.BaseStream.Position = BitConverter.ToInt64(file, signature - 8);
            uint version = list.ReadUInt32();
            list.ReadUInt32();
            int files = list.ReadInt32();
            list.ReadString();
            // Positions of two settings files, and flags.
            if (version >= 2)
                list.ReadBytes(5 * sizeof(long));
            for (int i = 0; i < files; i++)
            {
                long offset = list.ReadInt64(), size = list.ReadInt64(), packed = version >= 6 ? list.ReadInt64() : 0;
                byte kind = list.ReadByte();
                string name = list.ReadString();
                if (kind != IsAssembly)
                    continue;
                var content = new MemoryStream(file, (int)offset, (int)(packed == 0 ? size : packed));
                using (Stream plain = packed == 0 ? (Stream)content : new DeflateStream(content, CompressionMode.Decompress))
                using (FileStream copy = File.Create(Path.Combine(folder, name.Replace('/', '_'))))
                {
                    plain.CopyTo(copy);
                    if (copy.Length != size)
                        throw new InvalidDataException(name + " has " + copy.Length + " bytes, not " + size);
                }
            }
        }
    }

    static void All(string file, TextWriter output)
    {
        output.Write("file " + file + "\n");
        WithBodies(file, (method, read) =>
        {
            string token = MetadataTokens.GetToken(method).ToString("x8");
            try
            {
                var account = new Account(null);
                account.Of(read());
                output.Write($"{token} {account.Instructions} {account.Clauses} {account.Hash:x16}\n");
            }
            catch (BadImageFormatException e)
            {
                output.Write(token + " unreadable " + e.Message + "\n");
            }
        });
    }

    static void WithBodies(string file, Action<MethodDefinitionHandle, Func<MethodBodyBlock>> body)
    {
        using (var image = new PEReader(File.OpenRead(file), PEStreamOptions.PrefetchEntireImage))
        {
            if (!image.HasMetadata)
                return;
            MetadataReader metadata = image.GetMetadataReader();
            foreach (MethodDefinitionHandle handle in metadata.MethodDefinitions)
            {
                MethodDefinition method = metadata.GetMethodDefinition(handle);
                MethodImplAttributes kind = method.ImplAttributes & (MethodImplAttributes.CodeTypeMask | MethodImplAttributes.Unmanaged);
                if (method.RelativeVirtualAddress != 0 && kind == MethodImplAttributes.IL)
                    body(handle, () => image.GetMethodBody(method.RelativeVirtualAddress));
            }
        }
    }

    /// <summary>Everything in a body, as text or as a hash (64 bits, FNV-1a) of little-endian numbers.</summary>
    sealed class Account
    {
        readonly Action<string> tell;

        public Account(Action<string> tell) => this.tell = tell;

        public int Instructions { get; private set; }
        public int Clauses { get; private set; }
        public ulong Hash { get; private set; } = 0xcbf29ce484222325;

        public void Of(MethodBodyBlock body)
        {
            int locals = body.LocalSignature.IsNil ? 0 : MetadataTokens.GetToken(body.LocalSignature);
            Number(body.MaxStack);
            Number(body.LocalVariablesInitialized ? 1 : 0);
            Number(locals);
            tell?.Invoke($"maxstack {body.MaxStack}, zeroed {body.LocalVariablesInitialized}, locals {locals:x8}");
            BlobReader code = body.GetILReader();
            while (code.RemainingBytes > 0)
                Instruction(ref code);
            foreach (ExceptionRegion region in body.ExceptionRegions)
                Clause(region);
        }

        void Instruction(ref BlobReader code)
        {
            int offset = code.Offset;
            ushort value = code.ReadByte();
            if (value == 0xFE)
                value = (ushort)(0xFE00 | code.ReadByte());
            if (!Table.TryGetValue(value, out OpCode op))
                throw new BadImageFormatException("no instruction " + value.ToString("x4"));
            long[] operands = Operands(op, ref code);
            Number(offset);
            Number(value);
            foreach (char letter in op.Name)
                Byte((byte)letter);
            foreach (long operand in operands)
                Number(operand);
            Instructions++;
            tell?.Invoke($"{offset:x4} {op.Name} {string.Join(" ", operands.Select(one => one.ToString("x")))}");
        }

        static long[] Operands(OpCode op, ref BlobReader code)
        {
            switch (op.OperandType)
            {
                case OperandType.InlineNone:
                    return new long[0];
                case OperandType.ShortInlineBrTarget:
                    int near = code.ReadSByte();
                    return new long[] { code.Offset + near };
                case OperandType.InlineBrTarget:
                    int far = code.ReadInt32();
                    return new long[] { code.Offset + far };
                case OperandType.ShortInlineI:
                    return new long[] { op == OpCodes.Ldc_I4_S ? (long)code.ReadSByte() : code.ReadByte() };
                case OperandType.ShortInlineVar:
                    return new long[] { code.ReadByte() };
                case OperandType.InlineVar:
                    return new long[] { code.ReadUInt16() };
                case OperandType.InlineI:
                    return new long[] { code.ReadInt32() };
                case OperandType.InlineI8:
                case OperandType.InlineR:
                    return new[] { code.ReadInt64() };
                case OperandType.InlineSwitch:
                    var distances = new int[code.ReadInt32()];
                    for (int i = 0; i < distances.Length; i++)
                        distances[i] = code.ReadInt32();
                    int end = code.Offset;
                    return distances.Select(distance => (long)end + distance).ToArray();
                default:
                    // ShortInlineR's bits and all kinds of tokens.
                    return new long[] { code.ReadUInt32() };
            }
        }

        void Clause(ExceptionRegion region)
        {
            long last = region.Kind == ExceptionRegionKind.Catch ? MetadataTokens.GetToken(region.CatchType)
                : region.Kind == ExceptionRegionKind.Filter ? region.FilterOffset : 0;
            foreach (long number in new long[]
            {
                (int)region.Kind, region.TryOffset, region.TryLength, region.HandlerOffset, region.HandlerLength, last
            })
                Number(number);
            Clauses++;
            tell?.Invoke(
                $"{region.Kind} try {region.TryOffset:x4}+{region.TryLength:x} handler {region.HandlerOffset:x4}+{region.HandlerLength:x} {last:x}");
        }

        void Number(long number)
        {
            for (int i = 0; i < 8; i++)
                Byte((byte)(number >> (8 * i)));
        }

        void Byte(byte one) => Hash = (Hash ^ one) * 0x100000001b3;
    }
}
