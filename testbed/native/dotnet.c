// `dotnet.exe` for .NET 8 under Wine: it starts a program like the real one, by the public entry of hostfxr.dll.
//
// Under the name `w3wp.exe` it stands in for a worker process of IIS: it takes the arguments of one, and runs the program
// that STAND_IN_PROGRAM names, on the runtime below DOTNET_ROOT, in its own process. It is no web server.
//
// Wine before 9 keeps a list of its own exception frames and drops dead ones in RtlRestoreContext. .NET 8 leaves a catch
// block without that function, so dead frames stay in the list, and the next exception of the thread crashes in Wine.
// The handler below empties such a list before Wine looks at it. Windows itself has no such list in 64-bit programs.

#include <wchar.h>
#include <windows.h>

enum { LONGEST = 4096, NO_PROGRAM = 130, NO_RUNTIME = 131 };

static LONG CALLBACK forget_dead_frames(EXCEPTION_POINTERS *raised) {
    // The first field of a thread's block is its list of frames; its end is all ones.
    void **list = (void **)NtCurrentTeb();
    // The stack grows down, so a frame below the exception's stack pointer is dead.
    if ((ULONG_PTR)*list < raised->ContextRecord->Rsp) *list = (void *)~(ULONG_PTR)0;
    return EXCEPTION_CONTINUE_SEARCH;
}

// Ends the path below its last separator with `more`.
static void end_path(wchar_t *path, const wchar_t *more) { wcscpy(wcsrchr(path, L'\\') + 1, more); }

int wmain(int count, const wchar_t **arguments) {
    static wchar_t path[LONGEST], program[LONGEST];
    const wchar_t *worker[] = {L"w3wp.exe", program};
    WIN32_FIND_DATAW version;
    AddVectoredExceptionHandler(1, forget_dead_frames);
    GetModuleFileNameW(NULL, path, LONGEST / 2);
    if (!_wcsicmp(wcsrchr(path, L'\\') + 1, worker[0])) {
        if (!GetEnvironmentVariableW(L"STAND_IN_PROGRAM", program, LONGEST)) return NO_PROGRAM;
        if (!GetEnvironmentVariableW(L"DOTNET_ROOT", path, LONGEST / 2)) return NO_RUNTIME;
        wcscat(path, L"\\");
        arguments = worker;
        count = 2;
    }
    end_path(path, L"host\\fxr\\*");
    HANDLE versions = FindFirstFileW(path, &version);
    if (versions == INVALID_HANDLE_VALUE) return NO_RUNTIME;
    do {
        end_path(path, version.cFileName);
        size_t folder = wcslen(path);
        wcscat(path, L"\\hostfxr.dll");
        HMODULE resolver = LoadLibraryExW(path, NULL, LOAD_WITH_ALTERED_SEARCH_PATH);
        int (*run)(int, const wchar_t **) = resolver ? (void *)GetProcAddress(resolver, "hostfxr_main") : NULL;
        if (run) return run(count, arguments);
        path[folder] = 0;
    } while (FindNextFileW(versions, &version));
    return NO_RUNTIME;
}
