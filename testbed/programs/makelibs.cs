// Writes small assemblies directly, which is much quicker than compiling each.
//
// makelibs tiny FOLDER COUNT -> FOLDER/Lib0.dll, Lib1.dll, ...: each has Lib0.Worker with
//     static int First(int n) => n + 1; static int Second(int n) => n * 2;
// makelibs bad FILE          -> FILE has Bad.Bodies with
//     static int Good(int n) => n + 1; static int Broken(int n), whose IL takes from an empty stack.
using System;
using System.IO;
using System.Reflection;
using System.Reflection.Metadata;
using System.Reflection.Metadata.Ecma335;
using System.Reflection.PortableExecutable;

static class MakeLibs
{
    static int Main(string[] args)
    {
        if (args.Length == 3 && args[0] == "tiny" && int.TryParse(args[2], out int count))
        {
            Directory.CreateDirectory(args[1]);
            for (int i = 0; i < count; i++)
            {
                var library = new Library("Lib" + i, "Worker");
                library.Method("First", il => { Argument(il); One(il); il.OpCode(ILOpCode.Add); Return(il); });
                library.Method("Second", il => { Argument(il); Argument(il); il.OpCode(ILOpCode.Add); Return(il); });
                library.Write(Path.Combine(args[1], "Lib" + i + ".dll"));
            }
            Console.WriteLine("wrote " + count);
            return 0;
        }
        if (args.Length == 2 && args[0] == "bad")
        {
            var library = new Library("Bad", "Bodies");
            library.Method("Good", il => { Argument(il); One(il); il.OpCode(ILOpCode.Add); Return(il); });
            library.Method("Broken", il => { il.OpCode(ILOpCode.Add); Return(il); });
            library.Write(args[1]);
            Console.WriteLine("wrote " + args[1]);
            return 0;
        }
        Console.Error.WriteLine("usage: makelibs tiny FOLDER COUNT | bad FILE");
        return 2;
    }

    static void Argument(InstructionEncoder il) => il.LoadArgument(0);

    static void One(InstructionEncoder il) => il.LoadConstantI4(1);

    static void Return(InstructionEncoder il) => il.OpCode(ILOpCode.Ret);

    /// <summary>An assembly NAME with one static class NAME.TYPE of methods (int) -> int.</summary>
    sealed class Library
    {
        readonly MetadataBuilder metadata = new MetadataBuilder();
        readonly MethodBodyStreamEncoder bodies = new MethodBodyStreamEncoder(new BlobBuilder());
        readonly BlobHandle signature;
        readonly string name;
        readonly string type;

        public Library(string name, string type)
        {
            this.name = name;
            this.type = type;
            var blob = new BlobBuilder();
            new BlobEncoder(blob).MethodSignature().Parameters(
                1, returns => returns.Type().Int32(), parameters => parameters.AddParameter().Type().Int32());
            signature = metadata.GetOrAddBlob(blob);
        }

        public void Method(string method, Action<InstructionEncoder> body)
        {
            var il = new InstructionEncoder(new BlobBuilder());
            body(il);
            metadata.AddMethodDefinition(
                MethodAttributes.Public | MethodAttributes.Static | MethodAttributes.HideBySig,
                MethodImplAttributes.IL | MethodImplAttributes.NoInlining,
                metadata.GetOrAddString(method),
                signature,
                bodies.AddMethodBody(il),
                MetadataTokens.ParameterHandle(metadata.GetRowCount(TableIndex.Param) + 1));
            metadata.AddParameter(ParameterAttributes.None, metadata.GetOrAddString("n"), 1);
        }

        public void Write(string path)
        {
            StringHandle nameHandle = metadata.GetOrAddString(name);
            // The same name gives the same file: the identity is made of the name.
            var bytes = new byte[16];
            for (int i = 0; i < name.Length; i++)
                bytes[i % 16] ^= (byte)(name[i] * (i + 7));
            metadata.AddModule(
                0, metadata.GetOrAddString(name + ".dll"), metadata.GetOrAddGuid(new Guid(bytes)), default, default);
            metadata.AddAssembly(nameHandle, new Version(1, 0, 0, 0), default, default, 0, AssemblyHashAlgorithm.None);
            AssemblyReferenceHandle runtime = metadata.AddAssemblyReference(
                metadata.GetOrAddString("System.Runtime"), new Version(4, 0, 0, 0), default,
                metadata.GetOrAddBlob(new byte[] { 0xb0, 0x3f, 0x5f, 0x7f, 0x11, 0xd5, 0x0a, 0x3a }), default, default);
            TypeReferenceHandle baseType = metadata.AddTypeReference(
                runtime, metadata.GetOrAddString("System"), metadata.GetOrAddString("Object"));
            metadata.AddTypeDefinition(
                default, default, metadata.GetOrAddString("<Module>"), default,
                MetadataTokens.FieldDefinitionHandle(1), MetadataTokens.MethodDefinitionHandle(1));
            metadata.AddTypeDefinition(
                TypeAttributes.Public | TypeAttributes.Abstract | TypeAttributes.Sealed, nameHandle,
                metadata.GetOrAddString(type), baseType,
                MetadataTokens.FieldDefinitionHandle(1), MetadataTokens.MethodDefinitionHandle(1));
            var file = new BlobBuilder();
            new ManagedPEBuilder(
                PEHeaderBuilder.CreateLibraryHeader(), new MetadataRootBuilder(metadata), bodies.Builder,
                deterministicIdProvider: content => new BlobContentId(new Guid(bytes), 1)).Serialize(file);
            using (FileStream stream = File.Create(path))
                file.WriteContentTo(stream);
        }
    }
}
