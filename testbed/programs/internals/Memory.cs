// Finalizers, which the collector calls, and handles.
using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Runtime.ConstrainedExecution;
using System.Runtime.InteropServices;
using System.Threading;

namespace Internals
{
    static class Memory
    {
        static int finalized, critical, risen;
        static Rising kept;

        sealed class Plain { ~Plain() => Interlocked.Increment(ref finalized); }
        sealed class Critical : CriticalFinalizerObject { ~Critical() => Interlocked.Increment(ref critical); }
        sealed class Rising { ~Rising() { kept = this; risen++; } }

        public static void All()
        {
            Program.Show("finalizers", () =>
            {
                finalized = critical = risen = 0;
                Make();
                // Recent references may still be in a register.
                for (int i = 0; i < 50 && (finalized < 10 || critical < 10 || risen < 1); i++)
                {
                    GC.Collect();
                    GC.WaitForPendingFinalizers();
                }
                bool rose = kept != null;
                kept = null;
                return new object[] { finalized, critical, risen, rose };
            });
            Program.Show("handles", () =>
            {
                var pinned = new int[] { 1, 2, 3 };
                GCHandle handle = GCHandle.Alloc(pinned, GCHandleType.Pinned), weak = GCHandle.Alloc(pinned, GCHandleType.Weak);
                GC.Collect(0);
                int second = Marshal.ReadInt32(handle.AddrOfPinnedObject(), 4);
                handle.Free();
                bool there = weak.Target == pinned;
                weak.Free();
                return second + " " + there;
            });
            Program.Show("weak", () =>
            {
                var table = new ConditionalWeakTable<object, string>();
                var key = new object();
                table.Add(key, "value");
                GC.Collect();
                bool found = table.TryGetValue(key, out string value);
                GC.KeepAlive(key);
                return value + found + new WeakReference<object>(key).TryGetTarget(out _);
            });
            Program.Show("many", () =>
            {
                var list = new List<object>();
                for (int i = 0; i < 50_000; i++)
                    list.Add(i % 100 == 0 ? new byte[10_000] : (object)i);
                GC.Collect(2, GCCollectionMode.Forced, true, true);
                return list.Count + " " + (int)list[1] + " " + ((byte[])list[100]).Length;
            });
            Program.Show("pressure", () => { GC.AddMemoryPressure(1000); GC.RemoveMemoryPressure(1000); return GC.GetGeneration(new object()) >= 0; });
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Make()
        {
            for (int i = 0; i < 10; i++)
            {
                GC.KeepAlive(new Plain());
                GC.KeepAlive(new Critical());
            }
            GC.KeepAlive(new Rising());
        }
    }
}
