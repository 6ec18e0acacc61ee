using System;
using System.Collections.Generic;
using System.Reflection;
using System.Threading;

namespace Shop
{
    /// <summary>Threads that read an assembly's metadata without a pause.</summary>
    sealed class Reflection
    {
        readonly List<Thread> threads = new List<Thread>();
        volatile bool stop;
        long passes;
        long failures;

        public void Do(string what, string path, Action<string> say)
        {
            if (what == "off")
            {
                stop = true;
                threads.ForEach(thread => thread.Join());
                threads.Clear();
                say("reflected " + passes + " passes, " + failures + " failures");
                return;
            }
            Assembly assembly = path == "" ? typeof(object).Assembly : Assembly.LoadFrom(path);
            stop = false;
            for (int i = 0; i < int.Parse(what); i++)
                threads.Add(new Thread(() => Run(assembly)) { IsBackground = true, Name = "reflection" });
            threads.ForEach(thread => thread.Start());
            say("reflecting " + threads.Count + " " + assembly.GetName().Name);
        }

        void Run(Assembly assembly)
        {
            while (!stop)
            {
                foreach (Type type in assembly.GetTypes())
                {
                    if (stop)
                        return;
                    try
                    {
                        Read(type);
                    }
                    catch (Exception)
                    {
                        Interlocked.Increment(ref failures);
                    }
                }
                Interlocked.Increment(ref passes);
            }
        }

        static void Read(Type type)
        {
            const BindingFlags all = BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.Instance
                | BindingFlags.Static | BindingFlags.DeclaredOnly;
            foreach (MethodInfo method in type.GetMethods(all))
            {
                method.GetCustomAttributes(false);
                type.Module.ResolveMethod(method.MetadataToken);
            }
        }
    }
}
