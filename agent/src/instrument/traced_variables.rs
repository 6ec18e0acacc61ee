//! The variables of traced bodies that follow those of a timed one.
#![forbid(unsafe_code)]

use crate::capture::{Capture, CapturePlan};
use crate::signature::Type;

/// The variables, as distances from the first one, which holds the address of the call's entry.
#[derive(Debug)]
pub struct TracedVariables {
    types: Vec<Type>,
    object: Option<u16>,
    typed_reference: Option<u16>,
    /// Number of the variable for a copy of each type.
    values: Vec<(Type, u16)>,
    /// Numbers of by-reference parameters, with those of the variables for their references.
    references: Vec<(usize, u16)>,
}

impl TracedVariables {
    /// Returns the variables for a plan.
    pub fn of(plan: &CapturePlan) -> TracedVariables {
        let mut variables = TracedVariables {
            types: vec![Type::I],
            object: None,
            typed_reference: None,
            values: Vec::new(),
            references: Vec::new(),
        };
        if plan.values().any(|value| matches!(value.capture, Capture::String | Capture::Object)) {
            variables.object = Some(variables.add(Type::Object));
        }
        if plan.values().any(|value| value.capture.token_type().is_some()) {
            variables.typed_reference = Some(variables.add(Type::TypedByRef));
        }
        for value in &plan.parameters {
            if let Capture::Typed(ty) = &value.capture
                && variables.value(ty).is_none()
            {
                let number = variables.add(ty.clone());
                variables.values.push((ty.clone(), number));
            }
        }
        for (index, _) in plan.after_places() {
            if let Some(ty) = plan.parameters.get(index).and_then(|value| value.capture.token_type()) {
                let number = variables.add(Type::ByRef(Box::new(ty.clone())));
                variables.references.push((index, number));
            }
        }
        variables
    }

    /// Adds a variable.
    pub fn add(&mut self, ty: Type) -> u16 {
        self.types.push(ty);
        (self.types.len() - 1) as u16
    }

    /// Returns the types of the variables.
    pub fn into_types(self) -> Vec<Type> {
        self.types
    }

    /// Returns the variable for an object that is captured.
    pub fn object(&self) -> Option<u16> {
        self.object
    }

    /// Returns the variable for a typed reference.
    pub fn typed_reference(&self) -> Option<u16> {
        self.typed_reference
    }

    /// Returns the variable for a copy of a value of this type.
    pub fn value(&self, ty: &Type) -> Option<u16> {
        self.values.iter().find(|(of, _)| of == ty).map(|(_, number)| *number)
    }

    /// Returns the variable that keeps the reference of the parameter with this index.
    pub fn reference(&self, index: usize) -> Option<u16> {
        self.references.iter().find(|(of, _)| *of == index).map(|(_, number)| *number)
    }
}

/// The variables of a traced `MoveNext` that follow those of a timed body, as distances from the first one, which holds the
/// address of the entry for a completion.
#[derive(Debug)]
pub struct CompletionVariables {
    /// Those that capture the result.
    pub values: TracedVariables,
    /// The step, as helpers write it.
    pub step: u16,
    /// A reference into the state machine.
    pub machine: u16,
    /// The result.
    pub result: Option<u16>,
}

impl CompletionVariables {
    /// Returns the variables for results of this type. `is_class`: the state machine is a class.
    pub fn of(plan: &CapturePlan, is_class: bool, result: Option<Type>) -> CompletionVariables {
        let mut values = TracedVariables::of(plan);
        let step = values.add(Type::I);
        let machine = values.add(if is_class { Type::Object } else { Type::ByRef(Box::new(Type::U1)) });
        let result = result.map(|ty| values.add(ty));
        CompletionVariables { values, step, machine, result }
    }

    /// Returns the types of the variables.
    pub fn into_types(self) -> Vec<Type> {
        self.values.into_types()
    }
}
