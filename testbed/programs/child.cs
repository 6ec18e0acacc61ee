// A program that starts itself again, to test what a child inherits.
//
// child, then commands, one per line:
//   env      -> env NAME=VALUE;...     its variables for profilers and Redial, sorted
//   call N   -> called N CHECKSUM      Child.Step(int), N times
//   start    -> started PID            another process of this program
//   start X  -> started PID            a process of the program X, which says "ready" too
//   ask LINE -> answer ANSWER          the last child's answer to LINE (which may be `ask` again)
//   end      -> ended CODE             closes that child's input and waits for it
// It prints "ready PID" first and ends on "exit" or at the end of its input.
using System;
using System.Collections;
using System.Collections.Generic;
using System.Diagnostics;
using System.Reflection;
using System.Runtime.CompilerServices;

static class Child
{
    static readonly string[] Prefixes = { "CORECLR_", "COR_", "DOTNET_Profiler", "REDIAL_" };

    static Process child;

    static int Main()
    {
        Say("ready " + Process.GetCurrentProcess().Id);
        string line;
        while ((line = Console.In.ReadLine()) != null && line != "exit")
        {
            string[] words = line.Split(new[] { ' ' }, 2);
            switch (words[0])
            {
                case "env":
                    Say("env " + Variables());
                    break;
                case "call":
                    int sum = 0;
                    for (int i = 0; i < int.Parse(words[1]); i++)
                        sum += Step(i);
                    Say("called " + words[1] + " " + sum.ToString("x8"));
                    break;
                case "start":
                    Start(words.Length > 1 ? words[1] : Assembly.GetExecutingAssembly().Location);
                    Say("started " + child.Id);
                    break;
                case "ask":
                    child.StandardInput.WriteLine(words[1]);
                    child.StandardInput.Flush();
                    Say("answer " + child.StandardOutput.ReadLine());
                    break;
                case "end":
                    child.StandardInput.Close();
                    child.WaitForExit();
                    Say("ended " + child.ExitCode);
                    break;
                default:
                    Say("error unknown command: " + line);
                    break;
            }
        }
        return 0;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Step(int n) => unchecked(n * 31 + 7);

    static void Start(string program)
    {
        string host = Process.GetCurrentProcess().MainModule.FileName;
        child = Process.Start(new ProcessStartInfo(host, "\"" + program + "\"")
        {
            UseShellExecute = false,
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
        });
        child.StandardOutput.ReadLine(); // its "ready"
    }

    static string Variables()
    {
        var found = new List<string>();
        foreach (DictionaryEntry variable in Environment.GetEnvironmentVariables())
        {
            foreach (string prefix in Prefixes)
            {
                if (((string)variable.Key).StartsWith(prefix, StringComparison.Ordinal))
                    found.Add(variable.Key + "=" + variable.Value);
            }
        }
        found.Sort(StringComparer.Ordinal);
        return string.Join(";", found);
    }

    static void Say(string line)
    {
        Console.Out.WriteLine(line);
        Console.Out.Flush();
    }
}
