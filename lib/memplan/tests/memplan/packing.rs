//! Bare lives: what `pack` finds, and what it claims.

use memplan::{Life, Method, PackError, PackOptions, Packing, pack};

const SEARCH: PackOptions = PackOptions { nodes: 1 << 20 };
const NO_SEARCH: PackOptions = PackOptions { nodes: 0 };

/// Numbers without a pattern that matters, from a seed.
struct Noise(u64);

impl Noise {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn within(&mut self, low: u64, end: u64) -> u64 {
        low + self.below(end - low)
    }
}

fn life(bytes: u64, first: u32, last: u32) -> Life {
    Life { bytes, first, last }
}

fn meet(a: &Life, b: &Life) -> bool {
    a.first <= b.last && b.first <= a.last
}

/// A packing in which nothing overlaps and all figures are right.
#[track_caller]
fn packed(lives: &[Life], align: u64, options: &PackOptions) -> Packing {
    let packing = pack(lives, align, options).expect("the lives are valid");
    let end = |i: usize| packing.offsets[i] + lives[i].bytes.next_multiple_of(align);
    for i in 0..lives.len() {
        assert_eq!(packing.offsets[i] % align, 0);
        for j in 0..i {
            let apart = end(i) <= packing.offsets[j] || end(j) <= packing.offsets[i];
            assert!(apart || !meet(&lives[i], &lives[j]), "{i} and {j} overlap: {packing:?}\n{lives:?}");
        }
    }
    assert_eq!(packing.bytes, (0..lives.len()).map(end).max().unwrap_or(0));

    let live = |step: u32| -> u64 {
        let there = lives.iter().filter(|life| life.first <= step && step <= life.last);
        there.map(|life| life.bytes.next_multiple_of(align)).sum()
    };
    let steps = lives.iter().map(|life| life.first);
    let bound = steps.clone().map(live).max().unwrap_or(0);
    assert_eq!(packing.lower_bound, bound);
    assert_eq!(live(packing.bound_step), bound);
    assert!(steps.filter(|&step| live(step) == bound).all(|step| bound == 0 || packing.bound_step <= step));
    assert!(packing.bytes >= bound);
    assert!(packing.proven || packing.bytes > bound);
    assert!(packing.nodes <= options.nodes);
    packing
}

/// Whether some packing needs less than `bytes`, by trying every order in which lives can be put on top of each other.
fn fits_below(lives: &[Life], bytes: u64) -> bool {
    fn fill(lives: &[Life], tops: &mut Vec<Option<u64>>, bytes: u64) -> bool {
        let mut all = true;
        for i in 0..lives.len() {
            if tops[i].is_none() {
                all = false;
                let below = (0..lives.len()).filter(|&j| meet(&lives[i], &lives[j])).filter_map(|j| tops[j]);
                let top = below.max().unwrap_or(0) + lives[i].bytes;
                if top < bytes {
                    tops[i] = Some(top);
                    if fill(lives, tops, bytes) {
                        return true;
                    }
                    tops[i] = None;
                }
            }
        }
        all
    }
    fill(lives, &mut vec![None; lives.len()], bytes)
}

fn is_best(lives: &[Life], packing: &Packing) -> bool {
    packing.bytes == packing.lower_bound || !fits_below(lives, packing.bytes)
}

/// Nine lives that nearly fill the same bytes at every step.
fn few_lives(noise: &mut Noise) -> Vec<Life> {
    const STEPS: u64 = 7;
    let height = noise.within(5, 20);
    let mut live = [0; STEPS as usize];
    let mut lives = Vec::new();
    for _ in 0..300 {
        let first = noise.below(STEPS);
        let last = (first + noise.below(4)).min(STEPS - 1);
        let bytes = noise.within(1, height / 2 + 1);
        let there = &mut live[first as usize..=last as usize];
        if lives.len() < 9 && there.iter().all(|sum| sum + bytes <= height) {
            there.iter_mut().for_each(|sum| *sum += bytes);
            lives.push(life(bytes, first as u32, last as u32));
        }
    }
    lives
}

/// The same, but such that no greedy placement reaches the bound; one in some hundreds is.
fn hard_lives(noise: &mut Noise) -> Vec<Life> {
    loop {
        let lives = few_lives(noise);
        if !packed(&lives, 1, &NO_SEARCH).proven {
            return lives;
        }
    }
}

/// Lives that fill `steps` times `bytes` without a gap.
fn tiling(noise: &mut Noise, steps: u64, bytes: u64, pieces: usize) -> Vec<Life> {
    // First and last step, lowest and highest byte, ends not included.
    let mut tiles = vec![[0, steps, 0, bytes]];
    while tiles.len() < pieces {
        let t = noise.below(tiles.len() as u64) as usize;
        let [first, end, low, high] = tiles[t];
        if noise.below(2) == 0 && end - first > 1 {
            let cut = noise.within(first + 1, end);
            tiles[t][1] = cut;
            tiles.push([cut, end, low, high]);
        } else if high - low > 1 {
            let cut = noise.within(low + 1, high);
            tiles[t][3] = cut;
            tiles.push([first, end, cut, high]);
        }
    }
    // In an order that says nothing about where they lie.
    tiles.sort_by_key(|&[first, end, low, high]| (high - low, end, first));
    tiles.iter().map(|&[first, end, low, high]| life(high - low, first as u32, end as u32 - 1)).collect()
}

#[test]
fn few_lives_are_packed_as_well_as_can_be_and_that_is_proven() {
    let mut noise = Noise(1);
    let mut at_bound = 0;
    for _ in 0..60 {
        let lives = hard_lives(&mut noise);
        let packing = packed(&lives, 1, &SEARCH);
        assert!(is_best(&lives, &packing), "{lives:?}");
        assert!(packing.proven, "{lives:?}");
        at_bound += usize::from(packing.bytes == packing.lower_bound);
    }
    assert!(at_bound > 0, "the search reaches the bound where greedy placements do not");
}

#[test]
fn a_bound_that_cannot_be_reached_is_proven_so() {
    let lives =
        [(5, 3, 4), (7, 4, 6), (1, 1, 1), (7, 0, 1), (6, 6, 6), (6, 0, 2), (2, 2, 5), (6, 2, 3), (1, 6, 6)];
    let lives = lives.map(|(bytes, first, last)| life(bytes, first, last));
    let packing = packed(&lives, 1, &SEARCH);
    assert_eq!((packing.bytes, packing.lower_bound), (15, 14));
    assert!(packing.proven);
    assert!(!fits_below(&lives, 15));
    assert!(!packed(&lives, 1, &NO_SEARCH).proven);
}

#[test]
fn what_is_claimed_with_few_nodes_is_true() {
    let mut noise = Noise(2);
    let (mut proven, mut open) = (0, 0);
    for _ in 0..60 {
        let lives = hard_lives(&mut noise);
        for nodes in [1, 5, 10, 20, 30, 50, 100] {
            let packing = packed(&lives, 1, &PackOptions { nodes });
            if packing.proven {
                assert!(is_best(&lives, &packing), "{lives:?}");
                proven += usize::from(packing.bytes > packing.lower_bound);
            } else {
                open += 1;
            }
        }
    }
    assert!(proven > 0, "few nodes can be enough for a proof");
    assert!(open > 0, "few nodes can be too few for a proof");
}

#[test]
fn independent_parts_are_packed_together() {
    let mut noise = Noise(3);
    let mut above_bound = 0;
    for _ in 0..30 {
        // One after another, with something below that lives through all of them.
        let problems: Vec<Vec<Life>> = (0..3).map(|_| hard_lives(&mut noise)).collect();
        let best = problems.iter().map(|lives| packed(lives, 1, &SEARCH).bytes).max().unwrap_or(0);
        let mut lives = vec![life(5, 0, 29)];
        for (p, problem) in problems.iter().enumerate() {
            let shift = 10 * p as u32;
            lives.extend(problem.iter().map(|l| life(l.bytes, l.first + shift, l.last + shift)));
        }
        let packing = packed(&lives, 1, &SEARCH);
        assert_eq!(packing.bytes, 5 + best, "{lives:?}");
        assert!(packing.proven);
        above_bound += usize::from(packing.bytes > packing.lower_bound);
    }
    assert!(above_bound > 0);
}

#[test]
fn tilings_are_packed_without_a_gap() {
    let mut noise = Noise(4);
    let mut searched = 0;
    for _ in 0..25 {
        let pieces = noise.within(60, 100) as usize;
        let lives = tiling(&mut noise, 200, 1000, pieces);
        let packing = packed(&lives, 1, &SEARCH);
        assert_eq!((packing.bytes, packing.lower_bound), (1000, 1000), "{lives:?}");
        searched += usize::from(packing.method == Method::Search);
    }
    assert!(searched > 10, "greedy placements are not enough for tilings");
}

#[test]
fn the_same_lives_give_the_same_packing() {
    let mut noise = Noise(5);
    for _ in 0..20 {
        let lives = tiling(&mut noise, 30, 500, 60);
        let options = PackOptions { nodes: 3000 };
        assert_eq!(pack(&lives, 1, &options), pack(&lives.clone(), 1, &options));
    }
}

#[test]
fn more_nodes_are_never_worse_than_none() {
    let mut noise = Noise(6);
    let mut better = 0;
    for _ in 0..20 {
        let lives = tiling(&mut noise, 60, 5000, 90);
        let greedy = packed(&lives, 1, &NO_SEARCH);
        let searched = packed(&lives, 1, &PackOptions::default());
        assert_eq!(greedy.nodes, 0);
        assert!(searched.bytes <= greedy.bytes);
        assert_eq!(searched.bytes < greedy.bytes, searched.method == Method::Search);
        better += usize::from(searched.bytes < greedy.bytes);
    }
    assert!(better > 0);
}

#[test]
fn the_first_greedy_placement_at_the_bound_is_the_answer() {
    let by = |lives: &[Life]| {
        let packing = packed(lives, 1, &SEARCH);
        assert_eq!(packing.bytes, packing.lower_bound, "{lives:?}");
        (packing.method, packing.nodes)
    };
    assert_eq!(by(&[]), (Method::BySize, 0));
    assert_eq!(by(&[life(0, 0, 3)]), (Method::BySize, 0));
    assert_eq!(by(&[life(3, 0, 1), life(2, 1, 2), life(1, 2, 2)]), (Method::BySize, 0));
    // The largest at the bottom leave 4 units below and 3 above the last one, and no gap for it.
    let second = [life(4, 5, 6), life(4, 0, 2), life(3, 3, 6), life(3, 0, 3)];
    assert_eq!(by(&second), (Method::ByArea, 0));

    let mut noise = Noise(7);
    let mut seen = Vec::new();
    for _ in 0..2000 {
        let packing = packed(&few_lives(&mut noise), 1, &SEARCH);
        assert_eq!(
            packing.nodes > 0,
            packing.method == Method::Search || packing.bytes > packing.lower_bound
        );
        if !seen.contains(&packing.method) {
            seen.push(packing.method);
        }
    }
    assert!(seen.len() >= 5, "{seen:?}");
}

#[test]
fn sizes_are_rounded_up_before_the_bound_is_taken() {
    let packing = packed(&[life(1, 0, 0), life(65, 0, 1), life(64, 1, 1)], 64, &SEARCH);
    assert_eq!((packing.bytes, packing.lower_bound), (192, 192));
    let mut noise = Noise(8);
    for _ in 0..30 {
        let lives = hard_lives(&mut noise);
        let rounded: Vec<Life> = lives.iter().map(|l| Life { bytes: l.bytes.div_ceil(4), ..*l }).collect();
        let (four, one) = (packed(&lives, 4, &SEARCH), packed(&rounded, 1, &SEARCH));
        assert_eq!(four.bytes, 4 * one.bytes);
    }
}

#[test]
fn steps_may_be_anywhere() {
    let late = u32::MAX;
    let lives = [life(7, 0, late), life(5, late - 1, late), life(3, 0, late - 2), life(4, late, late)];
    let packing = packed(&lives, 1, &SEARCH);
    assert_eq!((packing.bytes, packing.bound_step), (16, late));
}

#[test]
fn lives_that_make_no_sense_are_refused() {
    let refused = |lives: &[Life], align: u64| pack(lives, align, &SEARCH).unwrap_err();
    assert_eq!(refused(&[], 0), PackError::BadAlignment { align: 0 });
    assert_eq!(refused(&[], 48), PackError::BadAlignment { align: 48 });
    let backwards = PackError::EndsBeforeItBegins { index: 1, first: 3, last: 2 };
    assert_eq!(refused(&[life(1, 0, 0), life(1, 3, 2)], 1), backwards);
    assert_eq!(backwards.to_string(), "life 1 ends at step 2, before its first step 3");
    assert_eq!(refused(&[life(u64::MAX, 0, 0)], 2), PackError::Overflow);
    assert_eq!(refused(&[life(1 << 63, 0, 0), life(1 << 63, 1, 1)], 1), PackError::Overflow);
}

#[test]
fn sizes_up_to_the_last_byte_are_packed() {
    let unit = u64::MAX / 128;
    let mut noise = Noise(9);
    for _ in 0..10 {
        let lives = hard_lives(&mut noise);
        let large: Vec<Life> = lives.iter().map(|l| Life { bytes: l.bytes * unit, ..*l }).collect();
        let (small, large) = (packed(&lives, 1, &SEARCH), packed(&large, 1, &SEARCH));
        assert_eq!(large.bytes, small.bytes * unit);
        assert!(large.proven);
    }
}
