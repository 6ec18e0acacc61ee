//! Stacks as people read them: async methods by their own names, and frames of the runtime between them in one line.

use crate::callers;
use crate::display_names::{DisplayName, StateMachine};
use crate::names::method_start;
use crate::words;
use redial_protocol::callers::CallOrigin;

/// A line of a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StackLine<'a> {
    /// A caller, with its text.
    Caller(&'a CallOrigin, String),
    /// Frames in a row that only carry async methods and work items, innermost first.
    Runtime(&'a [CallOrigin]),
}

impl StackLine<'_> {
    /// Returns the line's text.
    pub fn text(&self) -> String {
        match self {
            StackLine::Caller(_, text) => text.clone(),
            StackLine::Runtime(frames) => {
                let number = words::count(frames.len() as u64, "frame", "frames");
                format!("… {number} of the runtime")
            }
        }
    }
}

/// Returns the lines of a stack, innermost first.
pub fn stack_lines(stack: &[CallOrigin]) -> Vec<StackLine<'_>> {
    let mut lines = Vec::new();
    let mut rest = stack;
    while let Some((first, after)) = rest.split_first() {
        let in_a_row = rest.iter().take_while(|one| is_carrier(one) || **one == CallOrigin::Native).count();
        let (row, after_row) = rest.split_at(in_a_row);
        // Native code alone says how a call came about.
        if row.iter().any(is_carrier) {
            lines.push(StackLine::Runtime(row));
            rest = after_row;
        } else {
            lines.push(StackLine::Caller(first, name(first, after.first())));
            rest = after;
        }
    }
    lines
}

/// Returns a caller's name, of an async method without its state machine. `caller` is the frame that called it.
fn name(who: &CallOrigin, caller: Option<&CallOrigin>) -> String {
    let whole = callers::name(who);
    let CallOrigin::Method { module, method, .. } = who else { return whole };
    let start = method_start(method);
    if method.get(start..) != Some("MoveNext") {
        return whole;
    }
    // Only carriers, and code of the runtime that they were inlined into, call the `MoveNext` of an async method.
    let machine = match caller {
        Some(caller) if is_carrier(caller) => StateMachine::Async,
        _ => StateMachine::Unknown,
    };
    let parts = DisplayName::of(method, start, || machine);
    if parts.generated.is_empty() {
        return whole;
    }
    let namespace = method.get(parts.namespace.clone()).unwrap_or_default();
    let dot = if namespace.is_empty() { "" } else { "." };
    format!("{module}!{namespace}{dot}{}", parts.text(method))
}

/// The core library, as the runtimes name it, and the assemblies that have had the thread pool.
const MODULES: [&str; 3] = ["System.Private.CoreLib", "mscorlib", "System.Private.Threading"];

/// Types, with their nested types and those with a longer name, that only carry async methods and work items.
const CARRIERS: [&str; 23] = [
    "System.Runtime.CompilerServices.Async",
    "System.Runtime.CompilerServices.ConfiguredTaskAwaitable",
    "System.Runtime.CompilerServices.ConfiguredValueTaskAwaitable",
    "System.Runtime.CompilerServices.PoolingAsync",
    "System.Runtime.CompilerServices.TaskAwaiter",
    "System.Runtime.CompilerServices.ValueTaskAwaiter",
    "System.Runtime.CompilerServices.YieldAwaitable",
    "System.Threading.ExecutionContext",
    "System.Threading.PortableThreadPool",
    "System.Threading.QueueUserWorkItemCallback",
    "System.Threading.StartHelper",
    "System.Threading.Tasks.AwaitTaskContinuation",
    "System.Threading.Tasks.SynchronizationContextAwaitTaskContinuation",
    "System.Threading.Tasks.Task",
    "System.Threading.Tasks.UnwrapPromise",
    "System.Threading.Thread+",
    "System.Threading.Thread.",
    "System.Threading.ThreadHelper",
    "System.Threading.ThreadPool",
    "System.Threading.TimerQueue",
    "System.Threading.UnmanagedThreadPoolWorkItem",
    "System.Threading.WindowsThreadPool",
    "System.Threading._ThreadPoolWaitCallback",
];

/// Whether a frame only carries async methods and work items.
fn is_carrier(who: &CallOrigin) -> bool {
    let CallOrigin::Method { module, method, .. } = who else { return false };
    MODULES.contains(&module.as_str()) && CARRIERS.iter().any(|carrier| method.starts_with(carrier))
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_protocol::ids::{CopyKey, MethodToken, ModuleKey};

    const CORE: &str = "System.Private.CoreLib";

    fn frame(module: &str, method: &str) -> CallOrigin {
        let copy =
            CopyKey { module: ModuleKey { module_id: 1, generation: 1 }, token: MethodToken(0x0600_0001) };
        CallOrigin::Method { copy, module: module.into(), method: method.into(), signature: "()".into() }
    }

    fn core(method: &str) -> CallOrigin {
        frame(CORE, method)
    }

    fn texts(stack: &[CallOrigin]) -> Vec<String> {
        stack_lines(stack).iter().map(StackLine::text).collect()
    }

    #[test]
    fn runtime_frames_around_async_methods_are_one_line() {
        let stack = [
            frame("Shop", "Shop.Stock+<FindAsync>d__1.MoveNext"),
            core("System.Runtime.CompilerServices.AsyncMethodBuilderCore.Start<TStateMachine>"),
            frame("Shop", "Shop.Stock.FindAsync"),
            frame("Shop", "Shop.Clerk+<>c+<<Serve>b__0_1>d.MoveNext"),
            core("System.Threading.ExecutionContext.RunInternal"),
            core(
                "System.Runtime.CompilerServices.AsyncTaskMethodBuilder<TResult>+AsyncStateMachineBox<S>.MoveNext",
            ),
            core("System.Threading.Tasks.AwaitTaskContinuation.RunOrScheduleAction"),
            core("System.Threading.ThreadPoolWorkQueue.Dispatch"),
            CallOrigin::Native,
        ];
        assert_eq!(
            texts(&stack),
            [
                "Shop!Shop.Stock.FindAsync (async)",
                "… 1 frame of the runtime",
                "Shop!Shop.Stock.FindAsync()",
                "Shop!Shop.Clerk.Serve (async lambda 1)",
                "… 5 frames of the runtime",
            ]
        );
        let lines = stack_lines(&stack);
        let frames: Vec<&CallOrigin> = lines
            .iter()
            .flat_map(|line| match line {
                StackLine::Caller(who, _) => std::slice::from_ref(*who),
                StackLine::Runtime(frames) => frames,
            })
            .collect();
        assert_eq!(frames, stack.iter().collect::<Vec<_>>(), "every frame is in one line");
    }

    #[test]
    fn other_frames_keep_their_names() {
        let dynamic = CallOrigin::Dynamic { name: "Made".into() };
        let stack = [
            core("System.Collections.Generic.List<T>.ForEach"),
            // Parallel loops are the program's choice.
            frame("System.Threading.Tasks.Parallel", "System.Threading.Tasks.Parallel.For"),
            frame("Shop", "System.Threading.ThreadPoolOfShop.Run"),
            frame("Shop", "Shop.Cart+<Items>d__1.MoveNext"),
            frame("Shop", "Shop.Cart+Steps.MoveNext"),
            CallOrigin::Native,
            dynamic.clone(),
            CallOrigin::Gone,
        ];
        assert_eq!(
            texts(&stack),
            [
                "System.Private.CoreLib!System.Collections.Generic.List<T>.ForEach()",
                "System.Threading.Tasks.Parallel!System.Threading.Tasks.Parallel.For()",
                "Shop!System.Threading.ThreadPoolOfShop.Run()",
                "Shop!Shop.Cart.Items (state machine)",
                "Shop!Shop.Cart+Steps.MoveNext()",
                &callers::name(&CallOrigin::Native),
                &callers::name(&dynamic),
                &callers::name(&CallOrigin::Gone),
            ]
        );
        assert!(texts(&[]).is_empty());
    }
}
