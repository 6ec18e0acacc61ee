// `dotnet.exe` for .NET 8 under Wine: it starts a program like the real one, by the public entry of hostfxr.dll.
//
// Wine before 9 keeps a list of its own exception frames and drops dead ones in RtlRestoreContext. .NET 8 leaves a catch
// block without that function, so dead frames stay in the list, and the next exception of the thread crashes in Wine.
// The handler below empties such a list before Wine looks at it. Windows itself has no such list in 64-bit programs.

#include <wchar.h>
#include <windows.h>

enum { LONGEST = 4096, NO_RUNTIME = 131 };

static LONG CALLBACK forget_dead_frames(EXCEPTION_POINTERS *raised) {
    // The first field of a thread's block is its list of frames; its end is all ones.
    void **list = (void **)NtCurrentTeb();
    // The stack grows down, so a frame below the exception's stack pointer is dead.
    if ((ULONG_PTR)*list < raised->ContextRecord->Rsp) *list = (void *)~(ULONG_PTR)0;
    return EXCEPTION_CONTINUE_SEARCH;
}

int wmain(int count, const wchar_t **arguments) {
    static wchar_t path[LONGEST];
    WIN32_FIND_DATAW version;
    AddVectoredExceptionHandler(1, forget_dead_frames);
    GetModuleFileNameW(NULL, path, LONGEST / 2);
    wchar_t *name = wcsrchr(path, L'\\') + 1;
    wcscpy(name, L"host\\fxr\\*");
    HANDLE versions = FindFirstFileW(path, &version);
    if (versions == INVALID_HANDLE_VALUE) return NO_RUNTIME;
    do {
        wcscpy(name, L"host\\fxr\\");
        wcscat(name, version.cFileName);
        wcscat(name, L"\\hostfxr.dll");
        HMODULE resolver = LoadLibraryExW(path, NULL, LOAD_WITH_ALTERED_SEARCH_PATH);
        int (*run)(int, const wchar_t **) = resolver ? (void *)GetProcAddress(resolver, "hostfxr_main") : NULL;
        if (run) return run(count, arguments);
    } while (FindNextFileW(versions, &version));
    return NO_RUNTIME;
}
