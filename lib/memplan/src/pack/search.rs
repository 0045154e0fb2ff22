//! Branch and bound: whether the lives of a board fit below a capacity.
//!
//! Lives are placed from below, each on top of what is there, in an order of offsets that never fall; every packing can
//! be pushed down into one that is built this way. What is not worth trying is cut off:
//!
//! - *Load.* What is still to come in a section must fit above the lowest place that any of it can have.
//! - *Order.* A life that could have been placed lower before waits until something lies below it (it is asleep).
//! - *Dominance.* A life is not placed so high that another one fits below it.
//! - *Twins.* Of lives with equal size and span the first one lies lowest.
//! - *Cuts.* When nothing that is left lives across a moment, both sides are solved apart, and a failure of one is not
//!   answered by another try of the other.
//!
//! The ideas are those of Moffitt, *MiniMalloc* (2023), with the order of tries by how well a life fits between its
//! neighbours, as in best-fit heuristics for strips.

use crate::pack::sections::Board;

/// What a search says.
pub(super) enum Answer {
    /// Offsets by life.
    Fits(Vec<u64>),
    /// Nothing fits: every possibility was tried or excluded.
    Never,
    /// The budget is used up.
    OutOfNodes,
}

/// In what order lives are tried that can lie equally low.
pub(super) struct Taste<'a> {
    /// Rank by life, lower first; all different.
    pub rank: &'a [u32],
    /// Whether lives that touch what stands beside them go before all others.
    pub snug: bool,
}

const NONE: u32 = u32::MAX;
/// More than any offset of a life with bytes.
const PLACED: u64 = u64::MAX;

/// Searches a packing of at most `capacity` bytes with at most `budget` nodes (placements tried), which are added to `nodes`.
pub(super) fn search(
    board: &Board,
    taste: &Taste<'_>,
    capacity: u64,
    budget: u64,
    nodes: &mut u64,
) -> Answer {
    if board.load.iter().any(|&load| load > capacity) {
        return Answer::Never;
    }
    let mut search = Search::new(board, taste, capacity);
    let answer = search.run(budget, nodes);
    answer.unwrap_or(Answer::Fits(search.offset))
}

/// Lives that are not placed, and the sections that they live in; nothing else is left in those.
#[derive(Clone, Copy)]
struct Group {
    /// Range of [`Search::waiting`].
    lives: (u32, u32),
    /// First and last section, inclusive.
    span: (u32, u32),
}

/// A choice of what comes next in a group.
#[derive(Clone, Copy)]
struct Choice {
    /// The choice whose placement left this group over.
    parent: Option<u32>,
    group: Group,
    /// What is still to be tried: a range of [`Search::candidates`].
    next: u32,
    end: u32,
    /// The life that is placed now, or `NONE`.
    placed: u32,
    /// Groups that the placement leaves over and that are not begun: a range of [`Search::groups`].
    groups: (u32, u32),
    /// Lengths to go back to when the placement is taken back.
    waiting_len: u32,
    groups_len: u32,
    candidates_len: u32,
    changes_len: u32,
}

/// What is restored when a placement is taken back.
enum Change {
    Placed(u32),
    Offset(u32, u64),
    Asleep(u32, u64),
    Floor(u32, u64),
}

struct Search<'a> {
    board: &'a Board,
    taste: &'a Taste<'a>,
    capacity: u64,
    /// By life: the twin that goes before it.
    before: Vec<u32>,
    /// By life: the lowest offset on top of what is placed, or its place.
    offset: Vec<u64>,
    /// By life: the offset as long as it is not placed, and then more than any offset.
    ahead: Vec<u64>,
    /// By life: the offset at which it was tried before at a choice that still stands.
    asleep: Vec<u64>,
    /// By section: bytes that are not placed.
    left: Vec<u64>,
    /// By section: where its highest life ends.
    floor: Vec<u64>,
    /// By section: a life that could be placed low enough when that was last asked.
    witness: Vec<u32>,
    // Stacks that grow with each placement.
    choices: Vec<Choice>,
    waiting: Vec<u32>,
    groups: Vec<Group>,
    /// Sorted within each choice: offset, how badly it fits, rank, life.
    candidates: Vec<(u64, u32, u32, u32)>,
    changes: Vec<Change>,
}

impl<'a> Search<'a> {
    fn new(board: &'a Board, taste: &'a Taste<'a>, capacity: u64) -> Self {
        let (lives, sections) = (board.size.len(), board.sections());
        let mut by_rank: Vec<u32> = (0..lives as u32).collect();
        by_rank.sort_unstable_by_key(|&i| taste.rank[i as usize]);
        let mut before = vec![NONE; lives];
        let mut last_twin = vec![NONE; lives];
        for i in by_rank {
            let last = &mut last_twin[board.twins[i as usize] as usize];
            before[i as usize] = std::mem::replace(last, i);
        }
        let mut waiting: Vec<u32> = (0..lives as u32).collect();
        waiting.sort_unstable_by_key(|&i| (board.span[i as usize].0, i));
        Self {
            board,
            taste,
            capacity,
            before,
            offset: vec![0; lives],
            ahead: vec![0; lives],
            asleep: vec![u64::MAX; lives],
            left: board.load.clone(),
            floor: vec![0; sections],
            witness: (0..sections).map(|t| board.lives_in(t)[0]).collect(),
            choices: Vec::new(),
            waiting,
            groups: Vec::new(),
            candidates: Vec::new(),
            changes: Vec::new(),
        }
    }

    /// `None` when all lives have their offsets.
    fn run(&mut self, budget: u64, nodes: &mut u64) -> Option<Answer> {
        let all =
            Group { lives: (0, self.waiting.len() as u32), span: (0, self.board.sections() as u32 - 1) };
        self.choose(None, all, 0);
        let mut budget = budget;
        while let Some(top) = self.choices.len().checked_sub(1) {
            self.take_back(top);
            let Choice { parent, next, end, .. } = self.choices[top];
            if next == end {
                // Whatever was solved since the parent's placement goes as well.
                self.choices.truncate(parent.map_or(0, |parent| parent as usize + 1));
                continue;
            }
            if budget == 0 {
                return Some(Answer::OutOfNodes);
            }
            budget -= 1;
            *nodes += 1;
            self.choices[top].next += 1;
            let life = self.candidates[next as usize].3;
            if self.place(top, life) {
                self.divide(top, life);
                if !self.go_on(top) {
                    return None;
                }
            }
        }
        Some(Answer::Never)
    }

    /// Begins the next group that is left over; `false` when there is none.
    fn go_on(&mut self, top: usize) -> bool {
        let mut at = Some(top);
        while let Some(c) = at {
            let Choice { groups: (next, end), placed, parent, .. } = self.choices[c];
            if next < end {
                self.choices[c].groups.0 += 1;
                let height = self.offset[placed as usize];
                self.choose(Some(c as u32), self.groups[next as usize], height);
                return true;
            }
            at = parent.map(|parent| parent as usize);
        }
        false
    }

    /// Opens the choice of what comes next in a group, at `height` or above.
    fn choose(&mut self, parent: Option<u32>, group: Group, height: u64) {
        let sections = group.span.0 as usize..=group.span.1 as usize;
        // All that is left in a section lies at the next offset or above.
        let most = self.left[sections].iter().copied().max().unwrap_or(0);
        let high = self.capacity - most;
        let lives = &self.waiting[group.lives.0 as usize..group.lives.1 as usize];
        let tops = lives.iter().map(|&i| self.offset[i as usize] + self.board.size[i as usize]);
        let dominated = tops.min().unwrap_or(0);

        let next = self.candidates.len();
        if dominated > height {
            for &i in lives {
                let offset = self.offset[i as usize];
                let awake = offset > height || (offset == height && self.asleep[i as usize] != offset);
                let before = self.before[i as usize];
                let turn = before == NONE || self.ahead[before as usize] == PLACED;
                if awake && turn && offset <= high && offset < dominated {
                    let gap = if self.taste.snug { self.gap(group, i) } else { 0 };
                    self.candidates.push((offset, gap, self.taste.rank[i as usize], i));
                }
            }
            self.candidates[next..].sort_unstable();
        }
        let end = self.candidates.len() as u32;
        self.choices.push(Choice {
            parent,
            group,
            next: next as u32,
            end,
            placed: NONE,
            groups: (0, 0),
            waiting_len: self.waiting.len() as u32,
            groups_len: self.groups.len() as u32,
            candidates_len: end,
            changes_len: self.changes.len() as u32,
        });
    }

    /// How badly a life fits between what stands on its left and on its right: best where it closes a gap flush with the
    /// neighbour, worst where the neighbour is not higher than the place on which it would stand.
    fn gap(&self, group: Group, life: u32) -> u32 {
        let offset = self.offset[life as usize];
        let top = offset + self.board.size[life as usize];
        let (first, last) = self.board.span[life as usize];
        let side = |neighbour: Option<u64>| match neighbour {
            Some(floor) if floor <= offset => 4,
            Some(floor) if floor == top => 0,
            // Walls are as good as anything that is higher.
            Some(_) | None => 1,
        };
        let left = (first > group.span.0).then(|| self.floor[first as usize - 1]);
        let right = (last < group.span.1).then(|| self.floor[last as usize + 1]);
        side(left) + side(right)
    }

    /// Places a life at its offset; `false` when that leaves too little for what has yet to come.
    fn place(&mut self, top: usize, life: u32) -> bool {
        let Choice { group, .. } = self.choices[top];
        self.choices[top].placed = life;
        let size = self.board.size[life as usize];
        let end = self.offset[life as usize] + size;
        let (first, last) = self.board.span[life as usize];
        self.ahead[life as usize] = PLACED;
        self.changes.push(Change::Placed(life));
        for t in first..=last {
            self.changes.push(Change::Floor(t, self.floor[t as usize]));
            self.floor[t as usize] = end;
            self.left[t as usize] -= size;
        }
        for &j in &self.waiting[group.lives.0 as usize..group.lives.1 as usize] {
            let span = self.board.span[j as usize];
            if span.0 > last {
                break;
            }
            let lower = self.offset[j as usize];
            if first <= span.1 && lower < end && j != life {
                self.changes.push(Change::Offset(j, lower));
                self.offset[j as usize] = end;
                self.ahead[j as usize] = end;
            }
        }
        (group.span.0..=group.span.1).all(|t| self.fits(t as usize))
    }

    /// Whether what is left in a section fits above the lowest place that any of it can have.
    fn fits(&mut self, section: usize) -> bool {
        let left = self.left[section];
        // No overflow: what is left in a section always fits below the capacity.
        let high = self.capacity - left;
        let is_low = |i: u32| self.ahead[i as usize] <= high;
        if left == 0 || is_low(self.witness[section]) {
            return true;
        }
        match self.board.lives_in(section).iter().find(|&&i| is_low(i)) {
            Some(&i) => {
                self.witness[section] = i;
                true
            }
            None => false,
        }
    }

    /// Lists what a placement leaves over, in groups that have no section in common.
    fn divide(&mut self, top: usize, life: u32) {
        let Group { lives, .. } = self.choices[top].group;
        let first_group = self.groups.len() as u32;
        let mut start = self.waiting.len() as u32;
        let mut span: Option<(u32, u32)> = None;
        for w in lives.0..lives.1 {
            let i = self.waiting[w as usize];
            if i == life {
                continue;
            }
            let (first, last) = self.board.span[i as usize];
            span = Some(match span {
                Some(span) if first <= span.1 => (span.0, span.1.max(last)),
                Some(span) => {
                    let end = self.waiting.len() as u32;
                    self.groups.push(Group { lives: (start, end), span });
                    start = end;
                    (first, last)
                }
                None => (first, last),
            });
            self.waiting.push(i);
        }
        if let Some(span) = span {
            self.groups.push(Group { lives: (start, self.waiting.len() as u32), span });
        }
        self.choices[top].groups = (first_group, self.groups.len() as u32);
    }

    /// Takes back the placement of a choice, if it has one; the life sleeps while the choice stands.
    fn take_back(&mut self, top: usize) {
        let choice = self.choices[top];
        if choice.placed == NONE {
            return;
        }
        while self.changes.len() > choice.changes_len as usize {
            match self.changes.pop().expect("the length was checked") {
                Change::Placed(i) => {
                    let (first, last) = self.board.span[i as usize];
                    let size = self.board.size[i as usize];
                    self.left[first as usize..=last as usize].iter_mut().for_each(|left| *left += size);
                    self.ahead[i as usize] = self.offset[i as usize];
                }
                Change::Offset(i, offset) => {
                    self.offset[i as usize] = offset;
                    self.ahead[i as usize] = offset;
                }
                Change::Asleep(i, offset) => self.asleep[i as usize] = offset,
                Change::Floor(t, floor) => self.floor[t as usize] = floor,
            }
        }
        self.waiting.truncate(choice.waiting_len as usize);
        self.groups.truncate(choice.groups_len as usize);
        self.candidates.truncate(choice.candidates_len as usize);
        let life = choice.placed;
        self.changes.push(Change::Asleep(life, self.asleep[life as usize]));
        self.asleep[life as usize] = self.offset[life as usize];
        self.choices[top].placed = NONE;
        self.choices[top].changes_len = self.changes.len() as u32;
    }
}
