using System;

static class Hello
{
    static int Main(string[] args)
    {
        Console.WriteLine("hello from " + typeof(object).Assembly.GetName().Version);
        return args.Length;
    }
}
