// Reflection, delegates, emitted code, loading, and handlers for failed lookups.
using System;
using System.Diagnostics.Tracing;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.Loader;

namespace Internals
{
    static class Loading
    {
        sealed class Own : AssemblyLoadContext
        {
            protected override Assembly Load(AssemblyName name) => null;
        }

        [EventSource(Name = "Internals-Events")]
        sealed class Events : EventSource
        {
            [Event(1)] public void Happened(int number, string text) => WriteEvent(1, number, text);
        }

        sealed class Listener : EventListener
        {
            public string Seen = "";

            protected override void OnEventSourceCreated(EventSource source)
            {
                if (source.Name == "Internals-Events")
                    EnableEvents(source, EventLevel.LogAlways);
            }

            protected override void OnEventWritten(EventWrittenEventArgs e)
            {
                if (e.EventId == 1)
                    Seen += string.Join(",", e.Payload);
            }
        }

        [AttributeUsage(AttributeTargets.All)]
        sealed class Marked : Attribute
        {
            public Marked(string text, params int[] numbers) => Text = text + numbers.Length;
            public string Text;
            public Type Kind { get; set; }
        }

        [Marked("marked", 1, 2, Kind = typeof(string))]
        class Target
        {
            readonly int n;
            public Target(int n) => this.n = n;
            public int Add(int m, ref int sum) => sum = n + m;
            public T Echo<T>(T value) => value;
            public int Fails() => throw new InvalidOperationException("from inside");
            public static int Twice(int m) => 2 * m;
        }

        public static void All()
        {
            Program.Show("invoked", () =>
            {
                object target = Activator.CreateInstance(typeof(Target), 5);
                var arguments = new object[] { 6, 0 };
                typeof(Target).GetMethod("Add").Invoke(target, arguments);
                object echo = typeof(Target).GetMethod("Echo").MakeGenericMethod(typeof(long)).Invoke(target, new object[] { 7L });
                return arguments[1] + " " + echo;
            });
            Program.Show("thrown inside", () => typeof(Target).GetMethod("Fails").Invoke(new Target(1), null));
            Program.Show("attributes", () => typeof(Target).GetCustomAttributes<Marked>().Select(one => one.Text + one.Kind.Name).Single());
            Program.Show("delegates", () =>
            {
                var open = (Func<Target, string, string>)null;
                MethodInfo echo = typeof(Target).GetMethod("Echo").MakeGenericMethod(typeof(string));
                open = (Func<Target, string, string>)Delegate.CreateDelegate(typeof(Func<Target, string, string>), echo);
                Func<int, int> several = Target.Twice;
                several += n => n + 1;
                several -= Target.Twice;
                return open(new Target(0), "echo") + several(4) + several.GetInvocationList().Length + several.DynamicInvoke(9);
            });
            Program.Show("emitted", () =>
            {
                var method = new DynamicMethod("Halved", typeof(int), new[] { typeof(int) });
                ILGenerator il = method.GetILGenerator();
                il.Emit(OpCodes.Ldarg_0);
                il.Emit(OpCodes.Ldc_I4_2);
                il.Emit(OpCodes.Div);
                il.Emit(OpCodes.Ret);
                return ((Func<int, int>)method.CreateDelegate(typeof(Func<int, int>)))(20);
            });
            Program.Show("resolved", () =>
            {
                int asked = 0;
                ResolveEventHandler resolve = (sender, e) => { asked++; return e.Name.StartsWith("NotThere") ? typeof(Loading).Assembly : null; };
                AppDomain.CurrentDomain.AssemblyResolve += resolve;
                try { return Assembly.Load("NotThere, Version=1.0.0.0").GetName().Name + (asked > 0); }
                catch (Exception e) { return e.GetType().Name + (asked > 0); }
                finally { AppDomain.CurrentDomain.AssemblyResolve -= resolve; }
            });
            Program.Show("in a context", () =>
            {
                int asked = 0;
                var own = new Own();
                own.Resolving += (context, name) => { asked++; return null; };
                Assembly again = own.LoadFromStream(new MemoryStream(File.ReadAllBytes(typeof(Loading).Assembly.Location)));
                bool other = again != typeof(Loading).Assembly;
                try { own.LoadFromAssemblyName(new AssemblyName("NotThereEither")); } catch (FileNotFoundException) { asked += 10; }
                return other + " " + asked;
            });
            Program.Show("uninitialised", () =>
            {
                RuntimeHelpers.RunClassConstructor(typeof(Loading).TypeHandle);
                return System.Runtime.Serialization.FormatterServices.GetUninitializedObject(typeof(Target)) is Target;
            });
            Program.Show("events", () =>
            {
                using (var listener = new Listener())
                using (var events = new Events())
                {
                    events.Happened(3, "three");
                    return listener.Seen;
                }
            });
            Program.Show("switches", () => { AppContext.SetSwitch("Internals.On", true); return AppContext.TryGetSwitch("Internals.On", out bool on) && on; });
            Program.Show("types", () => new object[]
            {
                typeof(Action<>).MakeGenericType(typeof(int)).Name, Type.GetType("System.Int32[][,]").FullName, typeof(int).MakeByRefType().Name,
                typeof(Loading).Module.ResolveType(typeof(Target).MetadataToken).Name, Environment.GetCommandLineArgs().Length, Type.GetTypeCode(typeof(DateTime)),
            });
        }
    }
}
