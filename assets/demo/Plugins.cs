using System;
using System.IO;
using System.Reflection;
using System.Runtime.Loader;

namespace Shop
{
    /// <summary>Loads Plugin.dll, found in plugins/ beside Shop.dll; every load makes a separate copy.</summary>
    static class Plugins
    {
        sealed class Context : AssemblyLoadContext
        {
            protected override Assembly Load(AssemblyName name) => null;
        }

        public static Func<int, int> LoadTax()
        {
            string path = Path.Combine(AppContext.BaseDirectory, "plugins", "Plugin.dll");
            Assembly plugin = new Context().LoadFromAssemblyPath(path);
            MethodInfo apply = plugin.GetType("Plugin.Tax", true).GetMethod("Apply");
            return (Func<int, int>)apply.CreateDelegate(typeof(Func<int, int>));
        }
    }
}
