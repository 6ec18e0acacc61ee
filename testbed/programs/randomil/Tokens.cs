using System;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using System.Reflection.Metadata;
using System.Reflection.Metadata.Ecma335;

/// <summary>The metadata of one generated module: every token is created once.</summary>
sealed class Tokens
{
    readonly Dictionary<string, int> known = new Dictionary<string, int>();
    readonly int runtime;
    readonly int ground;

    public MetadataBuilder Builder { get; } = new MetadataBuilder();

    public Tokens()
    {
        runtime = MetadataTokens.GetToken(Builder.AddAssemblyReference(
            Builder.GetOrAddString("System.Runtime"), new Version(4, 0, 0, 0), default,
            Builder.GetOrAddBlob(new byte[] { 0xb0, 0x3f, 0x5f, 0x7f, 0x11, 0xd5, 0x0a, 0x3a }), default, default));
        ground = MetadataTokens.GetToken(Builder.AddAssemblyReference(
            Builder.GetOrAddString("randomil"), new Version(0, 0, 0, 0), default, default, default, default));
    }

    /// <summary>A class of the framework, in System.</summary>
    public int System(string name) => Type(runtime, "System", name);

    /// <summary>A class of Ground.cs.</summary>
    public int Ground(string name) => Type(ground, "Ground", name);

    int Type(int scope, string space, string name) => Once("type " + space + "." + name, () => MetadataTokens.GetToken(
        Builder.AddTypeReference(
            MetadataTokens.EntityHandle(scope), Builder.GetOrAddString(space), Builder.GetOrAddString(name))));

    public int TypeSpec(byte[] signature) => Once("spec " + Text(signature), () => MetadataTokens.GetToken(
        Builder.AddTypeSpecification(Builder.GetOrAddBlob(signature))));

    /// <summary>A field or a method of a type in another module, or of an instance.</summary>
    public int Member(int parent, string name, byte[] signature) =>
        Once("member " + parent + name + Text(signature), () => MetadataTokens.GetToken(Builder.AddMemberReference(
            MetadataTokens.EntityHandle(parent), Builder.GetOrAddString(name), Builder.GetOrAddBlob(signature))));

    public int Field(int parent, string name, params byte[][] type) =>
        Member(parent, name, new byte[] { 0x06 }.Concat(type.SelectMany(part => part)).ToArray());

    public int MethodSpec(int method, byte[] argument) =>
        Once("instance " + method + Text(argument), () => MetadataTokens.GetToken(Builder.AddMethodSpecification(
            MetadataTokens.EntityHandle(method),
            Builder.GetOrAddBlob(new byte[] { 0x0A, 1 }.Concat(argument).ToArray()))));

    public int Signature(byte[] signature) => Once("signature " + Text(signature), () => MetadataTokens.GetToken(
        Builder.AddStandaloneSignature(Builder.GetOrAddBlob(signature))));

    public int String(string text) => MetadataTokens.GetToken(Builder.GetOrAddUserString(text));

    int Once(string key, Func<int> make)
    {
        if (!known.TryGetValue(key, out int token))
            known[key] = token = make();
        return token;
    }

    static string Text(byte[] bytes) => BitConverter.ToString(bytes);

    /// <summary>A type's token as encoded in signatures.</summary>
    public static byte[] Coded(int token)
    {
        int row = token & 0xFFFFFF;
        int tag = (token >> 24) == 0x02 ? 0 : (token >> 24) == 0x01 ? 1 : 2;
        var blob = new BlobBuilder();
        blob.WriteCompressedInteger(row << 2 | tag);
        return blob.ToArray();
    }
}
