// To native code and back: marshalling, delegates, methods that native code calls.
using System;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text;
using Microsoft.Win32.SafeHandles;

namespace System.Runtime.InteropServices
{
    /// .NET 5 and later find it by its name.
    [AttributeUsage(AttributeTargets.Method)]
    sealed class UnmanagedCallersOnlyAttribute : Attribute { }
}

namespace Internals
{
    static unsafe class Native
    {
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        delegate int Compare(int* left, int* right);

        [StructLayout(LayoutKind.Sequential)]
        struct Named
        {
            public int Number;
            [MarshalAs(UnmanagedType.LPStr)] public string Name;
            [MarshalAs(UnmanagedType.ByValArray, SizeConst = 3)] public int[] Three;
        }

        sealed class Shouting : ICustomMarshaler
        {
            public static ICustomMarshaler GetInstance(string cookie) => new Shouting();
            public IntPtr MarshalManagedToNative(object value) => Marshal.StringToHGlobalAnsi(((string)value).ToUpperInvariant());
            public object MarshalNativeToManaged(IntPtr value) => Marshal.PtrToStringAnsi(value);
            public void CleanUpNativeData(IntPtr value) => Marshal.FreeHGlobal(value);
            public void CleanUpManagedData(object value) { }
            public int GetNativeDataSize() => -1;
        }

        [DllImport("libc", EntryPoint = "qsort")]
        static extern void Sort([In, Out] int[] items, IntPtr count, IntPtr size, Compare compare);

        [DllImport("libc", EntryPoint = "qsort")]
        static extern void SortBy(int* items, IntPtr count, IntPtr size, IntPtr compare);

        [DllImport("libc", EntryPoint = "strlen")]
        static extern IntPtr Length([MarshalAs(UnmanagedType.LPStr)] string text);

        [DllImport("libc", EntryPoint = "strlen")]
        static extern IntPtr LengthOf([MarshalAs(UnmanagedType.CustomMarshaler, MarshalTypeRef = typeof(Shouting))] string text);

        [DllImport("libc", EntryPoint = "strcpy")]
        static extern IntPtr Copy(StringBuilder into, string text);

        [DllImport("libc", EntryPoint = "open", SetLastError = true)]
        static extern SafeFileHandle Open(string path, int flags);

        [DllImport("libc", EntryPoint = "no_such_function")]
        static extern int NoSuchFunction();

        [DllImport("nosuchlibrary", EntryPoint = "f")]
        static extern int NoSuchLibrary();

        static int calls;

        public static void All()
        {
            calls = 0;
            Program.Show("called back", () =>
            {
                int[] items = { 5, 3, 9, 1 };
                Compare compare = (left, right) => { calls++; return *left - *right; };
                Sort(items, (IntPtr)items.Length, (IntPtr)4, compare);
                GC.KeepAlive(compare);
                return string.Join(" ", items) + (calls > 2);
            });
            Program.Show("called from native code alone", () =>
            {
                if (typeof(object).Assembly.GetType("System.Runtime.InteropServices.UnmanagedCallersOnlyAttribute") == null)
                    return "is not there";
                int[] items = { 4, 8, 2 };
                MethodInfo method = typeof(Native).GetMethod("Backwards", BindingFlags.Static | BindingFlags.NonPublic);
                fixed (int* first = items)
                    SortBy(first, (IntPtr)items.Length, (IntPtr)4, method.MethodHandle.GetFunctionPointer());
                return string.Join(" ", items);
            });
            Program.Show("there and back", () =>
            {
                Compare compare = (left, right) => *left * *right;
                var back = Marshal.GetDelegateForFunctionPointer<Compare>(Marshal.GetFunctionPointerForDelegate(compare));
                int six = 6, seven = 7;
                return back(&six, &seven);
            });
            Program.Show("strings", () => new object[] { (int)Length("four"), (int)Length(null ?? ""), (int)LengthOf("custom") });
            Program.Show("builders", () => { var text = new StringBuilder(32); Copy(text, "copied"); return text.ToString(); });
            Program.Show("structures", () =>
            {
                IntPtr memory = Marshal.AllocHGlobal(Marshal.SizeOf<Named>());
                Marshal.StructureToPtr(new Named { Number = 4, Name = "name", Three = new[] { 1, 2, 3 } }, memory, false);
                var back = Marshal.PtrToStructure<Named>(memory);
                Marshal.DestroyStructure<Named>(memory);
                Marshal.FreeHGlobal(memory);
                return back.Name + back.Number + back.Three[2];
            });
            Program.Show("handles", () =>
            {
                using (SafeFileHandle there = Open("/dev/null", 0), missing = Open("/no/such/file", 0))
                    return there.IsInvalid + " " + missing.IsInvalid + " " + (Marshal.GetLastWin32Error() != 0);
            });
            Program.Show("no function", () => NoSuchFunction());
            Program.Show("no library", () => { try { return NoSuchLibrary(); } catch (DllNotFoundException) { return "none"; } });
            Program.Show("through native code", () =>
            {
                // An exception may not cross native frames here; it is caught on this side.
                string seen = null;
                int[] items = { 2, 1 };
                Sort(items, (IntPtr)2, (IntPtr)4, (left, right) => { try { throw new Exception("inside"); } catch (Exception e) { seen = e.Message; } return 1; });
                return seen;
            });
        }

        [UnmanagedCallersOnly]
        static int Backwards(int* left, int* right) => *right - *left;
    }
}
