using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Reflection.Metadata;
using System.Reflection.Metadata.Ecma335;
using System.Reflection.PortableExecutable;

/// <summary>One generated module: Types types of Methods methods each, and Run.R0, R1, ... that call them.</summary>
sealed class Library
{
    public const int Types = 20;
    public const int Methods = 50;
    /// <summary>Numbers of methods per module: its own and one Run per type.</summary>
    public const int Numbers = Types * (Methods + 1);

    readonly Tokens tokens = new Tokens();
    readonly MethodBodyStreamEncoder bodies = new MethodBodyStreamEncoder(new BlobBuilder());
    readonly Kinds kinds;
    readonly List<Owner> owners = new List<Owner>();
    readonly List<Planned> all = new List<Planned>();
    readonly Rng plan;
    readonly ulong seed;
    readonly int number;

    public Library(ulong seed, int number)
    {
        this.seed = seed;
        this.number = number;
        plan = new Rng(seed * 1000003 + (ulong)number);
        kinds = new Kinds(tokens);
    }

    public void Write(string path)
    {
        for (int type = 0; type < Types; type++)
            Plan(type);
        var run = new Owner { Name = "Run", Shape = OwnerShape.Static, Token = 0x02000002 + Types };
        for (int type = 0; type < Types; type++)
            Add(run, new Planned { Name = "R" + type, Params = new[] { kinds.I4, kinds.I4 } });
        foreach (Planned method in all)
        {
            var rng = new Rng(seed * 7919 + (ulong)method.Index * 104729);
            var writer = new MethodWriter(tokens, kinds, method, all, number * Numbers, rng);
            int body = method.Owner == run
                ? writer.WriteRun(bodies, owners[int.Parse(method.Name.Substring(1))])
                : writer.Write(bodies);
            Define(method, body);
        }
        Finish(run, path);
    }

    void Plan(int type)
    {
        var shape = (OwnerShape)(type % 6);
        var owner = new Owner { Name = "T" + type, Shape = shape, Token = 0x02000002 + type };
        owner.Field = 0x04000001 + owners.Count(before => before.IsValueType);
        owners.Add(owner);
        if (owner.IsClass)
        {
            Add(owner, new Planned { Name = ".cctor", Params = new Kind[0] });
            owner.Constructor = new Planned { Name = ".ctor", Params = new[] { kinds.I4 }, IsStatic = false };
            Add(owner, owner.Constructor);
        }
        while (owner.Methods.Count < Methods)
        {
            var method = new Planned { Name = "M" + owner.Methods.Count, IsTiny = plan.Percent(10) };
            method.Inline = method.IsTiny && plan.Percent(50);
            method.IsStatic = owner.IsStatic || plan.Percent(40);
            method.IsVirtual = owner.IsClass && !method.IsStatic && plan.Percent(50);
            method.IsGeneric = !owner.IsGeneric && plan.Percent(12);
            method.IsHuge = number % 5 == 0 && type == 6 && method.Name == "M20";
            Planned before = owner.Methods.LastOrDefault();
            if (shape == OwnerShape.Static && before != null && plan.Percent(12) && !before.IsGeneric)
            {
                method.IsGeneric = false;
                (method.Returns, method.Params) = (before.Returns, before.Params);
            }
            else
                Sign(method, owner);
            // Methods of value types have nothing to lock; 2.1 loses lock or result if that comes in two registers.
            bool isLarge = method.Returns?.Cat == Cat.Value || method.Returns?.Cat == Cat.Var;
            method.IsSynchronized = !owner.IsValueType && !isLarge && plan.Percent(7);
            Add(owner, method);
        }
    }

    void Sign(Planned method, Owner owner)
    {
        Kind variable = method.IsGeneric ? kinds.MethodVar : owner.IsGeneric ? kinds.TypeVar : null;
        Kind Any() => variable != null && plan.Percent(35) ? variable : plan.Of(kinds.Plain);
        method.Params = Enumerable.Range(0, plan.Percent(5) ? 9 : plan.Below(5)).Select(_ => Any()).ToArray();
        // A returned reference refers to a static, a field or an element: see MethodWriter.
        method.Returns = plan.Percent(15) ? null : Any();
    }

    void Add(Owner owner, Planned method)
    {
        method.Owner = owner;
        method.Index = number * Numbers + all.Count;
        method.Token = 0x06000001 + all.Count;
        owner.Methods.Add(method);
        all.Add(method);
    }

    void Define(Planned method, int body)
    {
        MethodAttributes attributes = MethodAttributes.Public | MethodAttributes.HideBySig;
        if (method.IsStatic)
            attributes |= MethodAttributes.Static;
        if (method.IsVirtual)
            attributes |= MethodAttributes.Virtual | MethodAttributes.NewSlot;
        if (method.IsConstructor || method.IsTypeInitializer)
            attributes |= MethodAttributes.SpecialName | MethodAttributes.RTSpecialName;
        MetadataBuilder builder = tokens.Builder;
        MethodDefinitionHandle handle = builder.AddMethodDefinition(
            attributes,
            MethodImplAttributes.IL | (method.Inline ? MethodImplAttributes.AggressiveInlining : 0)
                | (method.IsSynchronized ? MethodImplAttributes.Synchronized : 0),
            builder.GetOrAddString(method.Name), builder.GetOrAddBlob(method.Signature()), body,
            MetadataTokens.ParameterHandle(1));
        if (MetadataTokens.GetToken(handle) != method.Token)
            throw new InvalidOperationException("methods out of order");
    }

    void Finish(Owner run, string path)
    {
        MetadataBuilder builder = tokens.Builder;
        string name = Path.GetFileNameWithoutExtension(path);
        var id = new Guid(number, 7, 11, BitConverter.GetBytes(seed));
        builder.AddModule(0, builder.GetOrAddString(name + ".dll"), builder.GetOrAddGuid(id), default, default);
        builder.AddAssembly(
            builder.GetOrAddString(name), new Version(1, 0, 0, 0), default, default, 0, AssemblyHashAlgorithm.None);
        builder.AddTypeDefinition(
            default, default, builder.GetOrAddString("<Module>"), default,
            MetadataTokens.FieldDefinitionHandle(1), MetadataTokens.MethodDefinitionHandle(1));
        int fields = 0;
        var generic = new List<int>();
        foreach (Owner owner in owners.Append(run))
        {
            TypeAttributes attributes = TypeAttributes.Public | TypeAttributes.Sealed;
            int parent = tokens.System("Object");
            switch (owner.Shape)
            {
                case OwnerShape.Class:
                case OwnerShape.GenericClass:
                    parent = tokens.Ground("Node");
                    break;
                case OwnerShape.Struct:
                case OwnerShape.GenericStruct:
                    parent = tokens.System("ValueType");
                    attributes |= TypeAttributes.SequentialLayout;
                    break;
                default:
                    attributes |= TypeAttributes.Abstract | TypeAttributes.BeforeFieldInit;
                    break;
            }
            builder.AddTypeDefinition(
                attributes, builder.GetOrAddString(name), builder.GetOrAddString(owner.ClrName),
                MetadataTokens.EntityHandle(parent), MetadataTokens.FieldDefinitionHandle(fields + 1),
                MetadataTokens.MethodDefinitionHandle(owner.Methods[0].Token & 0xFFFFFF));
            if (owner.IsValueType)
            {
                builder.AddFieldDefinition(
                    FieldAttributes.Public, builder.GetOrAddString("F"), builder.GetOrAddBlob(new byte[] { 0x06, 0x08 }));
                fields++;
            }
            if (owner.IsGeneric)
                generic.Add(owner.Token);
        }
        // Sorted by the TypeOrMethodDef value of the token.
        var parameters = generic.Concat(all.Where(method => method.IsGeneric).Select(method => method.Token));
        foreach (int owner in parameters.OrderBy(token => (token & 0xFFFFFF) << 1 | (token >> 24 == 0x06 ? 1 : 0)))
            builder.AddGenericParameter(
                MetadataTokens.EntityHandle(owner), GenericParameterAttributes.None, builder.GetOrAddString("T"), 0);
        var file = new BlobBuilder();
        new ManagedPEBuilder(
            PEHeaderBuilder.CreateLibraryHeader(), new MetadataRootBuilder(builder), bodies.Builder,
            deterministicIdProvider: content => new BlobContentId(id, 1)).Serialize(file);
        using (FileStream stream = File.Create(path))
            file.WriteContentTo(stream);
    }
}
