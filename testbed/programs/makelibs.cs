// Writes small assemblies directly, which is much faster than compiling each.
//
// makelibs tiny FOLDER COUNT -> FOLDER/Lib0.dll, Lib1.dll, ...: each has Lib0.Worker with
//     static int First(int n) => n + 1; static int Second(int n) => n * 2;
// makelibs wide FOLDER COUNT METHODS -> the same, and each Lib0.Worker also has the methods M0, M1, ...
// makelibs bad FILE          -> FILE has Bad.Bodies with
//     static int Good(int n) => n + 1; static int Broken(int n), whose IL pops from an empty stack;
//     static int Variable(int n, __arglist) => n; static int CallsVariable(int n) => Variable(n, __arglist(n, n)).
// makelibs jumps FILE        -> FILE has Shapes.Jumps with methods (int) -> int that call Shapes.T.Hit first:
//     Down(n) jumps (`jmp`) to itself until n is 0, and returns 7; Even and Odd call each other last (`tail.`);
//     Thrower throws, Jumping jumps there, Calling calls it last.
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
        bool isWide = args.Length == 4 && args[0] == "wide";
        if ((isWide || args.Length == 3 && args[0] == "tiny") && int.TryParse(args[2], out int count))
        {
            int methods = isWide ? int.Parse(args[3]) : 0;
            Directory.CreateDirectory(args[1]);
            for (int i = 0; i < count; i++)
            {
                var library = new Library("Lib" + i, "Worker");
                library.Method("First", il => { Argument(il); One(il); il.OpCode(ILOpCode.Add); Return(il); });
                library.Method("Second", il => { Argument(il); Argument(il); il.OpCode(ILOpCode.Add); Return(il); });
                for (int method = 0; method < methods; method++)
                    library.Method("M" + method, il => { Argument(il); Return(il); });
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
            library.Variable("Variable", "CallsVariable");
            library.Write(args[1]);
            Console.WriteLine("wrote " + args[1]);
            return 0;
        }
        if (args.Length == 2 && args[0] == "jumps")
        {
            Jumps(args[1]);
            Console.WriteLine("wrote " + args[1]);
            return 0;
        }
        Console.Error.WriteLine("usage: makelibs tiny FOLDER COUNT | wide FOLDER COUNT METHODS | bad FILE | jumps FILE");
        return 2;
    }

    static void Jumps(string file)
    {
        var library = new Library("Jumps", "Jumps", "Shapes");
        string[] methods = { "Down", "Even", "Odd", "Thrower", "Jumping", "Calling" };
        MethodDefinitionHandle Named(string method) =>
            MetadataTokens.MethodDefinitionHandle(Array.IndexOf(methods, method) + 1);
        void JumpTo(InstructionEncoder il, string method)
        {
            il.OpCode(ILOpCode.Jmp);
            il.Token(Named(method));
        }
        void CallLast(InstructionEncoder il, string method)
        {
            il.OpCode(ILOpCode.Tail);
            il.Call(Named(method));
            Return(il);
        }
        // At 0 it returns this; otherwise it decrements the argument.
        void Ends(InstructionEncoder il, int result)
        {
            LabelHandle on = il.DefineLabel();
            Argument(il);
            il.Branch(ILOpCode.Brtrue, on);
            il.LoadConstantI4(result);
            Return(il);
            il.MarkLabel(on);
            Argument(il);
            One(il);
            il.OpCode(ILOpCode.Sub);
        }
        foreach (string method in methods)
            library.Method(method, il =>
            {
                library.Hit(il, "Jumps." + method + "(int)");
                switch (method)
                {
                    case "Down":
                        Ends(il, 7);
                        il.StoreArgument(0);
                        JumpTo(il, method);
                        break;
                    case "Even":
                        Ends(il, 1);
                        CallLast(il, "Odd");
                        break;
                    case "Odd":
                        Ends(il, 0);
                        CallLast(il, "Even");
                        break;
                    case "Thrower":
                        il.OpCode(ILOpCode.Ldnull);
                        il.OpCode(ILOpCode.Throw);
                        break;
                    case "Jumping":
                        JumpTo(il, "Thrower");
                        break;
                    default:
                        Argument(il);
                        CallLast(il, "Thrower");
                        break;
                }
            });
        library.Write(file);
    }

    static void Argument(InstructionEncoder il) => il.LoadArgument(0);

    static void One(InstructionEncoder il) => il.LoadConstantI4(1);

    static void Return(InstructionEncoder il) => il.OpCode(ILOpCode.Ret);

    /// <summary>An assembly NAME with one static class SPACE.TYPE of methods (int) -> int.</summary>
    sealed class Library
    {
        readonly MetadataBuilder metadata = new MetadataBuilder();
        readonly MethodBodyStreamEncoder bodies = new MethodBodyStreamEncoder(new BlobBuilder());
        readonly BlobHandle signature;
        MemberReferenceHandle hit;
        readonly string name;
        readonly string type;
        readonly string space;

        public Library(string name, string type, string space = null)
        {
            this.name = name;
            this.type = type;
            this.space = space ?? name;
            var blob = new BlobBuilder();
            new BlobEncoder(blob).MethodSignature().Parameters(
                1, returns => returns.Type().Int32(), parameters => parameters.AddParameter().Type().Int32());
            signature = metadata.GetOrAddBlob(blob);
        }

        public void Method(string method, Action<InstructionEncoder> body)
        {
            Add(method, signature, body);
        }

        MethodDefinitionHandle Add(string method, BlobHandle signature, Action<InstructionEncoder> body)
        {
            var il = new InstructionEncoder(new BlobBuilder(), new ControlFlowBuilder());
            body(il);
            MethodDefinitionHandle added = metadata.AddMethodDefinition(
                MethodAttributes.Public | MethodAttributes.Static | MethodAttributes.HideBySig,
                MethodImplAttributes.IL | MethodImplAttributes.NoInlining,
                metadata.GetOrAddString(method),
                signature,
                bodies.AddMethodBody(il),
                MetadataTokens.ParameterHandle(metadata.GetRowCount(TableIndex.Param) + 1));
            metadata.AddParameter(ParameterAttributes.None, metadata.GetOrAddString("n"), 1);
            return added;
        }

        /// <summary>A method with variable arguments, and one that calls it with two.</summary>
        public void Variable(string method, string caller)
        {
            // vararg int (int), and at the call (int, ..., int, int): ECMA-335 II.23.2.1, II.23.2.2.
            BlobHandle fixedOnly = metadata.GetOrAddBlob(new byte[] { 0x05, 1, 0x08, 0x08 });
            BlobHandle called = metadata.GetOrAddBlob(new byte[] { 0x05, 3, 0x08, 0x08, 0x41, 0x08, 0x08 });
            MethodDefinitionHandle variable = Add(method, fixedOnly, il => { Argument(il); Return(il); });
            MemberReferenceHandle call = metadata.AddMemberReference(variable, metadata.GetOrAddString(method), called);
            Method(caller, il => { Argument(il); Argument(il); Argument(il); il.Call(call); Return(il); });
        }

        /// <summary>Calls Shapes.T.Hit(string) of the assembly `shapes`.</summary>
        public void Hit(InstructionEncoder il, string method)
        {
            if (hit.IsNil)
            {
                AssemblyReferenceHandle shapes = metadata.AddAssemblyReference(
                    metadata.GetOrAddString("shapes"), new Version(0, 0, 0, 0), default, default, default, default);
                TypeReferenceHandle t = metadata.AddTypeReference(
                    shapes, metadata.GetOrAddString("Shapes"), metadata.GetOrAddString("T"));
                BlobHandle taken = metadata.GetOrAddBlob(new byte[] { 0x00, 1, 0x08, 0x0E });
                hit = metadata.AddMemberReference(t, metadata.GetOrAddString("Hit"), taken);
            }
            il.LoadString(metadata.GetOrAddUserString(method));
            il.Call(hit);
            il.OpCode(ILOpCode.Pop);
        }

        public void Write(string path)
        {
            StringHandle nameHandle = metadata.GetOrAddString(name);
            // The same name gives the same file, because the identity is derived from the name.
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
                TypeAttributes.Public | TypeAttributes.Abstract | TypeAttributes.Sealed,
                metadata.GetOrAddString(space),
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
