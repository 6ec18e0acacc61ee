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

typedef int run_main(int count, const wchar_t **arguments);
typedef int run_program(int count, const wchar_t **arguments, const wchar_t *host, const wchar_t *root,
                        const wchar_t *program);

// Loads the resolver of the only, or the first, runtime below a folder.
static HMODULE load_resolver(const wchar_t *root) {
    static wchar_t path[LONGEST];
    WIN32_FIND_DATAW version;
    swprintf(path, LONGEST, L"%ls\\host\\fxr\\*", root);
    HANDLE versions = FindFirstFileW(path, &version);
    if (versions == INVALID_HANDLE_VALUE) return NULL;
    do {
        swprintf(path, LONGEST, L"%ls\\host\\fxr\\%ls\\hostfxr.dll", root, version.cFileName);
        HMODULE resolver = LoadLibraryExW(path, NULL, LOAD_WITH_ALTERED_SEARCH_PATH);
        if (resolver) return resolver;
    } while (FindNextFileW(versions, &version));
    return NULL;
}

static int run_worker(const wchar_t *host) {
    static wchar_t root[LONGEST], program[LONGEST];
    if (!GetEnvironmentVariableW(L"STAND_IN_PROGRAM", program, LONGEST)) return NO_PROGRAM;
    if (!GetEnvironmentVariableW(L"DOTNET_ROOT", root, LONGEST)) return NO_RUNTIME;
    HMODULE resolver = load_resolver(root);
    run_program *run = resolver ? (void *)GetProcAddress(resolver, "hostfxr_main_startupinfo") : NULL;
    return run ? run(1, &host, host, root, program) : NO_RUNTIME;
}

int wmain(int count, const wchar_t **arguments) {
    static wchar_t host[LONGEST], root[LONGEST];
    AddVectoredExceptionHandler(1, forget_dead_frames);
    GetModuleFileNameW(NULL, host, LONGEST);
    const wchar_t *name = wcsrchr(host, L'\\') + 1;
    if (!_wcsicmp(name, L"w3wp.exe")) return run_worker(host);
    wcsncpy(root, host, name - host - 1);
    HMODULE resolver = load_resolver(root);
    run_main *run = resolver ? (void *)GetProcAddress(resolver, "hostfxr_main") : NULL;
    return run ? run(count, arguments) : NO_RUNTIME;
}
