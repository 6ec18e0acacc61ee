//! Tests of portable PDBs that no compiler writes by chance: skipped tables of both widths, and too much of something.

use super::*;

/// A heap of blobs; the first is empty.
struct Heap(Vec<u8>);

impl Heap {
    fn new() -> Heap {
        Heap(vec![0])
    }

    /// Adds a blob and returns its offset.
    fn add(&mut self, blob: &[u8]) -> u16 {
        let offset = self.0.len() as u16;
        self.0.extend(compressed(blob.len() as u32));
        self.0.extend_from_slice(blob);
        offset
    }

    /// Adds a path of these parts and returns its offset.
    fn path(&mut self, parts: &[u16]) -> u16 {
        let mut blob = vec![b'/'];
        blob.extend(parts.iter().flat_map(|part| compressed(u32::from(*part))));
        self.add(&blob)
    }
}

fn compressed(number: u32) -> Vec<u8> {
    match number {
        0..0x80 => vec![number as u8],
        0x80..0x4000 => (number as u16 | 0x8000).to_be_bytes().to_vec(),
        _ => (number | 0xc000_0000).to_be_bytes().to_vec(),
    }
}

/// What a PDB has.
#[derive(Default)]
struct Content<'a> {
    heap: Vec<u8>,
    /// Rows of the module's table of methods.
    module_methods: u32,
    /// Offsets of the names of documents.
    documents: &'a [u16],
    /// Document and sequence points of each method.
    methods: &'a [(u16, u16)],
    /// `MoveNext` and its async or iterator method.
    state_machines: &'a [(u32, u32)],
}

impl Content<'_> {
    fn encode(&self) -> Vec<u8> {
        let mut pdb = vec![0; 24];
        pdb.extend((1_u64 << METHOD_DEF).to_le_bytes());
        pdb.extend(self.module_methods.to_le_bytes());

        let method = |row: u32| {
            let width = if self.module_methods > 0xffff { 4 } else { 2 };
            row.to_le_bytes().into_iter().take(width).collect::<Vec<_>>()
        };
        let mut tables = vec![0; 8];
        tables.extend((0x7f_u64 << DOCUMENT).to_le_bytes());
        tables.extend([0; 8]);
        let counts = [self.documents.len(), self.methods.len(), 1, 1, 1, 1, self.state_machines.len()];
        tables.extend(counts.into_iter().flat_map(|rows| (rows as u32).to_le_bytes()));
        for name in self.documents {
            tables.extend([*name, 0, 0, 0].into_iter().flat_map(u16::to_le_bytes));
        }
        for (document, points) in self.methods {
            tables.extend([*document, *points].into_iter().flat_map(u16::to_le_bytes));
        }
        // A scope, a variable, a constant and imports, to be skipped.
        tables.extend(method(1));
        tables.extend([0xaa; 6 + 8 + 6 + 4 + 4]);
        for (body, kickoff) in self.state_machines {
            tables.extend(method(*body));
            tables.extend(method(*kickoff));
        }

        let streams: [(&[u8], &[u8]); 3] =
            [(b"#Pdb\0\0\0\0", &pdb), (b"#~\0\0", &tables), (b"#Blob\0\0\0", &self.heap)];
        let mut file = b"BSJB".to_vec();
        file.extend([0; 14]);
        file.extend(3_u16.to_le_bytes());
        let mut at = 64_u32;
        for (name, content) in streams {
            file.extend(at.to_le_bytes());
            file.extend((content.len() as u32).to_le_bytes());
            file.extend_from_slice(name);
            at += content.len() as u32;
        }
        assert_eq!(file.len(), 64);
        for (_, content) in streams {
            file.extend_from_slice(content);
        }
        file
    }
}

#[test]
fn an_async_method_has_the_lines_of_its_move_next() {
    let mut heap = Heap::new();
    let parts = [0, heap.add(b"src"), heap.add(b"A.cs")];
    let document = heap.path(&parts);
    // No locals; at offset 5, from line 7 and column 1 to column 4.
    let points = heap.add(&[0, 5, 0, 3, 7, 1]);
    for module_methods in [3, 0x1_0000] {
        let content = Content {
            heap: heap.0.clone(),
            module_methods,
            documents: &[document],
            methods: &[(0, 0), (1, points), (0, 0)],
            state_machines: &[(2, 1)],
        };
        let file = content.encode();
        let pdb = PortablePdb::parse(&file).expect("a PDB");
        let body = pdb.method(2).expect("right").expect("lines");
        let lines = Some(Lines { start: 7, start_column: 1, end: 7, end_column: 4 });
        assert_eq!(body.points, [SequencePoint { il_offset: 5, document: 0, lines }]);
        assert_eq!((body.start(), body.at(6)), (Some(("/src/A.cs", 7)), Some(("/src/A.cs", 7))));
        assert!(!body.is_state_machine);
        let kickoff = pdb.method(1).expect("right").expect("lines of MoveNext");
        assert_eq!(kickoff.start(), Some(("/src/A.cs", 7)));
        assert_eq!(kickoff.at(6), None, "the offsets are those of MoveNext");
        assert!(kickoff.is_state_machine);
        assert_eq!(pdb.method(3), Ok(None));
        assert_eq!(pdb.method(4), Ok(None), "no such row");
    }
}

#[test]
fn bounds_the_documents_of_a_method() {
    let read = |count: u32| {
        let mut heap = Heap::new();
        let name = heap.add(b"A.cs");
        let document = heap.path(&[name]);
        let mut points = vec![0, 1, 5, 0, 3, 7, 1];
        points.extend((2..=count).flat_map(|number| [vec![0], compressed(number)].concat()));
        let points = heap.add(&points);
        let documents = vec![document; count as usize];
        let file = Content {
            heap: heap.0,
            module_methods: 1,
            documents: &documents,
            methods: &[(0, points)],
            ..Content::default()
        }
        .encode();
        PortablePdb::parse(&file).and_then(|pdb| pdb.method(1))
    };
    let most = read(MAX_DOCUMENTS as u32).expect("right").expect("lines");
    assert_eq!(most.documents.len(), MAX_DOCUMENTS);
    assert_eq!(read(MAX_DOCUMENTS as u32 + 1), Err(FormatError::Wrong("number of documents")));
}

#[test]
fn bounds_the_path_of_a_document() {
    let read = |length: usize| {
        let mut heap = Heap::new();
        let part = heap.add(&vec![b'a'; length]);
        let document = heap.path(&[part, part]);
        let points = heap.add(&[0, 5, 0, 3, 7, 1]);
        let file = Content {
            heap: heap.0,
            module_methods: 1,
            documents: &[document],
            methods: &[(1, points)],
            ..Content::default()
        }
        .encode();
        PortablePdb::parse(&file).and_then(|pdb| pdb.method(1))
    };
    let longest = read(MAX_PATH / 2 - 1).expect("right").expect("lines");
    assert_eq!(longest.documents.first().map(String::len), Some(MAX_PATH - 1));
    assert_eq!(read(MAX_PATH / 2), Err(FormatError::Wrong("document")));
}
