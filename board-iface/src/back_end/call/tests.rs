use super::*;
use crate::region::Budget;
use gil_wire::message::Direction;

fn region(dir: Direction, bytes: &[u8]) -> Region {
    Region::holding(dir, bytes.to_vec(), &Budget::new(1 << 20))
}

fn call() -> Call {
    let regions = vec![
        region(Direction::In, b"input"),
        region(Direction::Out, &[0; 8]),
        region(Direction::InOut, b"both"),
    ];
    Call::new(Op::new(1, 1), Some(5), regions)
}

fn written(output: &mut Output, bytes: &[u8]) {
    let to = output.as_mut_ptr().cast::<u8>();
    assert!(output.room() >= bytes.len());
    // SAFETY: the output has room for the bytes.
    unsafe { to.copy_from(bytes.as_ptr(), bytes.len()) };
}

#[test]
fn inputs_are_bounded_and_go_the_right_way() {
    let mut call = call();
    assert!(call.input(&InData::Null, 9).unwrap().is_null());
    assert!(!call.input(&InData::Inline(b""), 0).unwrap().is_null());
    assert!(matches!(
        call.input(&InData::Inline(b"abc"), 4),
        Err(Refusal::Short { have: 3, needed: 4 })
    ));
    assert!(call.input(&InData::Region(0), 5).is_ok());
    assert!(matches!(
        call.input(&InData::Region(0), 6),
        Err(Refusal::Short { have: 5, needed: 6 })
    ));
    assert!(matches!(
        call.input(&InData::Region(1), 1),
        Err(Refusal::Direction(1))
    ));
    assert!(matches!(
        call.input(&InData::Region(3), 1),
        Err(Refusal::Region { index: 3, count: 3 })
    ));
    assert_eq!(call.bytes(&InData::Region(2)).unwrap(), Some(&b"both"[..]));
    assert!(matches!(
        call.string(&InData::Inline(b"a\0b")),
        Err(Refusal::Nul(1))
    ));
}

#[test]
fn inline_memory_is_aligned_for_vectors() {
    let mut call = call();
    for len in [1, 15, 16, 17, 1000] {
        let bytes: Vec<u8> = (0..len).map(|i| i as u8).collect();
        let pointer = call.input(&InData::Inline(&bytes), len).unwrap();
        assert_eq!(pointer.addr() % 16, 0);
        // SAFETY: the input has `len` bytes and lives as long as the call.
        let copy = unsafe { std::slice::from_raw_parts(pointer.cast::<u8>(), len) };
        assert_eq!(copy, bytes);
    }
}

#[test]
fn outputs_are_bounded_and_go_the_right_way() {
    let mut call = call();
    assert!(
        call.output(OutRoom::Null, 9)
            .unwrap()
            .as_mut_ptr()
            .is_null()
    );
    assert!(matches!(
        call.output(OutRoom::Inline(3), 4),
        Err(Refusal::Short { have: 3, needed: 4 })
    ));
    assert!(matches!(
        call.output(OutRoom::Inline(u32::MAX), 0),
        Err(Refusal::InlineRoom(_))
    ));
    assert!(matches!(
        call.output(OutRoom::Region(0), 0),
        Err(Refusal::Direction(0))
    ));
    assert!(matches!(
        call.output(OutRoom::Region(1), 9),
        Err(Refusal::Short { have: 8, needed: 9 })
    ));
}

/// A guest's structure that says of itself that it is longer than what came never gets to a driver.
#[test]
fn a_structure_is_as_long_as_its_version_says() {
    const KNOWN: &[u32] = &[0x0100_0008, 0x0200_000c];
    let of = |word: u32, len: usize| {
        let mut bytes = word.to_le_bytes().to_vec();
        bytes.resize(len, 0);
        let regions = vec![region(Direction::InOut, &bytes)];
        let mut call = Call::new(Op::new(1, 1), None, regions);
        call.versioned(OutRoom::Region(0), KNOWN)
            .map(|(_, len)| len)
    };
    assert!(matches!(of(KNOWN[0], 8), Ok(8)) && matches!(of(KNOWN[1], 12), Ok(12)));
    assert!(matches!(
        of(KNOWN[1], 8),
        Err(Refusal::Short {
            have: 8,
            needed: 12
        })
    ));
    let unknown = |word, len| matches!(of(word, len), Err(Refusal::Parameter { .. }));
    assert!(unknown(0x0100_000c, 12) && unknown(0, 3) && unknown(KNOWN[0] >> 8, 8));
    let mut call = call();
    for room in [OutRoom::Null, OutRoom::Inline(8), OutRoom::Region(1)] {
        assert!(call.versioned(room, KNOWN).is_err());
    }
}

#[test]
fn written_bytes_go_back_and_no_others() {
    let mut call = call();
    let mut inline = call.output(OutRoom::Inline(100), 0).unwrap();
    written(&mut inline, b"short");
    assert_eq!(inline.data(&mut call, 5), OutData::Inline(b"short"));
    let mut region = call.output(OutRoom::Region(1), 8).unwrap();
    written(&mut region, b"region");
    assert_eq!(region.data(&mut call, 6), OutData::Region);
    let outcome = call.outcome(Vec::new());
    let out: Vec<_> = outcome.out.iter().map(board::Output::bytes).collect();
    assert_eq!(out, [&b"region"[..], b""]);
}

#[test]
fn an_operation_has_the_memory_until_it_ends() {
    let mut first = call();
    let memory = first.take_memory();
    assert!(matches!(
        first.input(&InData::Region(0), 1),
        Err(Refusal::Direction(0))
    ));
    first.give_back(memory);
    let out = first.outcome(Vec::new()).out;
    assert_eq!(out[0].bytes(), [0; 8]);
    assert_eq!(out[1].bytes(), b"both");

    let mut second = call();
    let memory = second.take_memory();
    let now = second.outcome(Vec::new()).out;
    assert!(now.iter().all(|output| output.bytes().is_empty()));
    assert_eq!(memory.no_outputs().len(), 2);
    assert_eq!(memory.outputs()[1].bytes(), b"both");
}
