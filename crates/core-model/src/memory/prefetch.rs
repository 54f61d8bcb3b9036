//! Prefetchers: which lines are likely to be asked for next.

use super::hierarchy::{Line, Why};
use crate::processor::Prefetch;

/// Instructions whose strides are followed.
const STRIDES: usize = 256;
/// Pages whose streams are followed.
const STREAMS: usize = 32;
/// Lines of a page.
const PAGE: u64 = 64;
/// Lines by which an access may come behind younger ones of its stream.
const LATE: i64 = 16;

/// Lines that are wanted after an access.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted {
    lines: [Line; Prefetch::MOST],
    count: usize,
    /// Which of them are wanted in the next level alone, a bit for each.
    below: u8,
    /// Which of them lie in another page, whose translation is asked for first.
    apart: u8,
}

impl Wanted {
    fn push(&mut self, line: Line) {
        self.push_to(line, false, false);
    }

    /// Adds a line, wanted in the next level alone, or of another page.
    pub(super) fn push_to(&mut self, line: Line, is_below: bool, is_apart: bool) {
        if let Some(place) = self.lines.get_mut(self.count) {
            *place = line;
            self.below |= u8::from(is_below) << self.count;
            self.apart |= u8::from(is_apart) << self.count;
            self.count += 1;
        }
    }

    /// Whether one of them is wanted in the next level alone.
    pub(super) fn is_below(&self, place: usize) -> bool {
        self.below >> place & 1 != 0
    }

    /// Whether one of them lies in another page, whose translation is asked for first.
    pub(super) fn is_apart(&self, place: usize) -> bool {
        self.apart >> place & 1 != 0
    }
}

impl std::ops::Deref for Wanted {
    type Target = [Line];

    fn deref(&self) -> &[Line] {
        &self.lines[..self.count]
    }
}

/// The prefetchers of one cache.
#[derive(Debug)]
pub struct Prefetcher {
    next_line: bool,
    stride: Option<(Steps, Vec<Stride>)>,
    stream: Option<(Reach, Vec<Stream>)>,
}

/// How far the streams of pages are run ahead of.
#[derive(Clone, Copy, Debug)]
struct Reach {
    distance: i64,
    degree: i64,
    crosses: bool,
}

/// How the strides of instructions are followed: the fields of [`Prefetch::Stride`].
#[derive(Clone, Copy, Debug)]
struct Steps {
    distance: i64,
    longest: u64,
    repeats: u32,
    below: i64,
    degree: i64,
    translates: bool,
}

/// Where an instruction goes.
#[derive(Clone, Copy, Debug, Default)]
struct Stride {
    /// Its address.
    instruction: u64,
    latest: Line,
    stride: i64,
    sure: u8,
    /// Strides from the latest line to the farthest one that was asked for.
    ahead: i64,
}

/// Where accesses to a page go.
#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    page: u64,
    latest: i64,
    direction: i64,
    sure: u8,
    /// The farthest line that was asked for.
    farthest: i64,
}

impl Prefetcher {
    /// Prefetchers of these kinds.
    pub fn new(kinds: &[Prefetch]) -> Prefetcher {
        let mut made = Prefetcher { next_line: false, stride: None, stream: None };
        for &kind in kinds {
            match kind {
                Prefetch::NextLine => made.next_line = true,
                Prefetch::Stride { distance, longest, repeats, below, degree, translates } => {
                    let longest = longest as u64;
                    let steps = Steps { distance, longest, repeats, below, degree, translates };
                    made.stride = Some((steps, vec![Stride::default(); STRIDES]));
                }
                Prefetch::Stream { distance, degree, crosses } => {
                    let reach = Reach { distance, degree, crosses };
                    made.stream = Some((reach, vec![Stream::default(); STREAMS]));
                }
            }
        }
        made
    }

    /// Sees an access and tells the lines that it leads to expect.
    #[inline]
    pub fn observe(&mut self, line: Line, why: Why, is_miss: bool) -> Wanted {
        let mut wanted = Wanted::default();
        if self.next_line
            && is_miss
            && !matches!(why, Why::Walk | Why::Prefetch)
            && !(line + 1).is_multiple_of(PAGE)
        {
            wanted.push(line + 1);
        }
        if let (Some((steps, strides)), Why::Load(instruction) | Why::Store(instruction)) =
            (&mut self.stride, why)
        {
            let entry = &mut strides[(instruction % STRIDES as u64) as usize];
            if entry.instruction != instruction {
                *entry = Stride { instruction, latest: line, ..Stride::default() };
            } else if entry.latest != line {
                follow(entry, *steps, line, &mut wanted);
            }
        }
        let data = matches!(why, Why::Load(_) | Why::Store(_) | Why::Prefetch);
        if let Some((reach, streams)) = self.stream.as_mut().filter(|_| data) {
            stream(streams, *reach, line, &mut wanted);
        }
        wanted
    }

    /// Takes back that a line is wanted: it was not asked for, and is wanted again with the stream's next access.
    pub fn refuse(&mut self, line: Line) {
        let Some((_, streams)) = &mut self.stream else { return };
        let Some(stream) = streams.first_mut().filter(|stream| stream.direction != 0) else { return };
        let reached = line as i64 - (stream.page * PAGE) as i64 - stream.direction;
        if stream.direction > 0 {
            stream.farthest = stream.farthest.min(reached);
        } else {
            stream.farthest = stream.farthest.max(reached);
        }
    }
}

/// Follows an instruction to another line.
fn follow(entry: &mut Stride, steps: Steps, line: Line, wanted: &mut Wanted) {
    let stride = line.wrapping_sub(entry.latest) as i64;
    let is_same = stride == entry.stride;
    entry.sure = if is_same { (entry.sure + 1).min(Prefetch::REPEATS) } else { 0 };
    entry.ahead = if is_same { (entry.ahead - 1).max(0) } else { 0 };
    (entry.stride, entry.latest) = (stride, line);
    if u32::from(entry.sure) < steps.repeats || stride.unsigned_abs() > steps.longest {
        return;
    }
    let mut ask = |ahead: i64| {
        if let Some(next) = line.checked_add_signed(stride * ahead) {
            let is_apart = steps.translates && next / PAGE != line / PAGE;
            wanted.push_to(next, ahead > steps.distance, is_apart);
        }
    };
    if steps.degree == 0 {
        ask(steps.distance);
        return;
    }
    let (from, to) = (entry.ahead, (entry.ahead + steps.degree).min(steps.distance + steps.below));
    if from >= steps.distance {
        // It is in the next level, or on its way there.
        ask(steps.distance);
    }
    (from + 1..=to).for_each(ask);
    entry.ahead = to;
}

fn stream(streams: &mut [Stream], reach: Reach, line: Line, wanted: &mut Wanted) {
    let (page, at) = (line / PAGE, (line % PAGE) as i64);
    let Some(found) = streams.iter().position(|stream| stream.page == page && stream.sure > 0) else {
        // A stream that came to the end of the page before goes on.
        let goes_on =
            |stream: &&Stream| stream.sure > 1 && stream.page.wrapping_add_signed(stream.direction) == page;
        let before = streams.iter().find(goes_on).copied();
        streams.rotate_right(1);
        streams[0] = Stream { page, latest: at, direction: 0, sure: 1, farthest: at };
        if let Some(Stream { direction, farthest, .. }) = before {
            let reached = (farthest - PAGE as i64 * direction) * direction;
            let farthest = reached.max(at * direction) * direction;
            streams[0] = Stream { direction, sure: 2, farthest, ..streams[0] };
            ahead(&mut streams[0], reach, wanted);
        }
        return;
    };
    streams[..=found].rotate_right(1);
    let stream = &mut streams[0];
    let direction = (at - stream.latest).signum();
    // What comes out of order lies where the stream has been, or in what was asked for: it says nothing new.
    let is_late = stream.sure > 1 && direction != stream.direction && (at - stream.latest).abs() <= LATE;
    if direction == 0 || is_late {
        return;
    }
    if direction == stream.direction {
        stream.sure = (stream.sure + 1).min(4);
    } else {
        (stream.direction, stream.sure, stream.farthest) = (direction, 1, at);
    }
    stream.latest = at;
    if stream.sure > 1 {
        ahead(stream, reach, wanted);
    }
}

/// Asks for the next lines of a stream.
fn ahead(stream: &mut Stream, reach: Reach, wanted: &mut Wanted) {
    let Stream { page, latest, direction, .. } = *stream;
    for _ in 0..reach.degree {
        let reached = stream.farthest;
        let line = if direction > 0 { reached.max(latest) } else { reached.min(latest) } + direction;
        let ends = !reach.crosses && !(0..PAGE as i64).contains(&line);
        if (line - latest).abs() > reach.distance || ends {
            break;
        }
        stream.farthest = line;
        wanted.push((page * PAGE).wrapping_add_signed(line));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Within some pages, four strides ahead.
    const NEAR: Prefetch =
        Prefetch::Stride { distance: 4, longest: 63, repeats: 2, below: 0, degree: 0, translates: false };

    /// As on Zen 4, but not as far ahead.
    const FAR: Prefetch =
        Prefetch::Stride { distance: 2, longest: 131_071, repeats: 1, below: 3, degree: 3, translates: true };

    fn wants(prefetcher: &mut Prefetcher, line: Line) -> Vec<Line> {
        prefetcher.observe(line, Why::Load(3), true).to_vec()
    }

    #[test]
    fn strides_are_followed_once_they_are_sure() {
        let mut prefetcher = Prefetcher::new(&[NEAR]);
        let wanted: Vec<Vec<Line>> =
            [10, 13, 16, 19, 22].map(|line| wants(&mut prefetcher, line)).into_iter().collect();
        assert_eq!(wanted, [vec![], vec![], vec![], vec![31], vec![34]]);
        assert!(wants(&mut prefetcher, 90).is_empty());
    }

    #[test]
    fn strides_over_pages_are_followed_where_the_record_says_so() {
        for stride in [1000_i64, -1000, 131_071, 131_072] {
            let at = |step: i64| (10_000_000 + step * stride) as Line;
            let mut near = Prefetcher::new(&[NEAR]);
            assert!((0..9).all(|step| wants(&mut near, at(step)).is_empty()), "{stride}");
            let mut far = Prefetcher::new(&[FAR]);
            let wanted: Vec<Vec<Line>> = (0..6).map(|step| wants(&mut far, at(step))).collect();
            let steps = |ahead: &[i64]| ahead.iter().map(|&step| at(step)).collect::<Vec<Line>>();
            if stride > 131_071 {
                assert!(wanted.concat().is_empty(), "{stride}");
                continue;
            }
            // Three at once until the farthest of five ahead; that which is two ahead is brought nearer.
            assert_eq!(wanted[..2], [vec![], vec![]], "{stride}");
            assert_eq!(wanted[2..4], [steps(&[3, 4, 5]), steps(&[5, 6, 7, 8])], "{stride}");
            assert_eq!(wanted[4..], [steps(&[6, 9]), steps(&[7, 10])], "{stride}");
        }
    }

    #[test]
    fn where_and_how_lines_are_wanted_follows_from_how_far_ahead_they_are() {
        let mut far = Prefetcher::new(&[FAR]);
        let mut wants = |line| far.observe(line, Why::Load(3), true);
        (0..4).for_each(|step| _ = wants(step * 20));
        let wanted = wants(80);
        let told: Vec<(Line, bool, bool)> = wanted
            .iter()
            .enumerate()
            .map(|(place, &line)| (line, wanted.is_below(place), wanted.is_apart(place)))
            .collect();
        // Line 120 is of the page of 80, and 180 is not.
        assert_eq!(told, [(120, false, false), (180, true, true)]);
        // Another stride begins anew, and nothing lies before the first line.
        assert!(wants(30).is_empty() && wants(20).is_empty());
        assert_eq!(wants(10)[..], [0]);
    }

    #[test]
    fn streams_run_ahead_within_a_page() {
        let mut prefetcher = Prefetcher::new(&[Prefetch::Stream { distance: 4, degree: 2, crosses: false }]);
        let wanted: Vec<Vec<Line>> =
            [64, 65, 66, 67, 126].map(|line| wants(&mut prefetcher, line)).into_iter().collect();
        assert_eq!(wanted[..3], [vec![], vec![], vec![67, 68]]);
        assert_eq!(wanted[3], [69, 70]);
        assert_eq!(wanted[4], [127], "the page ends");
        assert_eq!(wants(&mut prefetcher, 128), [129, 130], "and the stream goes on in the next");
        let down: Vec<Vec<Line>> =
            [700, 699, 698].map(|line| wants(&mut prefetcher, line)).into_iter().collect();
        assert_eq!(down[2], [697, 696]);
    }

    #[test]
    fn streams_bear_accesses_out_of_order() {
        let stream = Prefetch::Stream { distance: 4, degree: 2, crosses: false };
        let mut prefetcher = Prefetcher::new(&[stream]);
        let wanted: Vec<Vec<Line>> =
            [64, 65, 68, 66, 69].map(|line| wants(&mut prefetcher, line)).into_iter().collect();
        assert_eq!(wanted[2..], [vec![69, 70], vec![], vec![71, 72]], "66 does not turn the stream");
    }

    #[test]
    fn what_is_refused_is_wanted_again() {
        let stream = Prefetch::Stream { distance: 8, degree: 2, crosses: false };
        let mut prefetcher = Prefetcher::new(&[stream]);
        let wanted: Vec<Vec<Line>> =
            [64, 65, 66].map(|line| wants(&mut prefetcher, line)).into_iter().collect();
        assert_eq!(wanted[2], [67, 68]);
        prefetcher.refuse(68);
        assert_eq!(wants(&mut prefetcher, 67), [68, 69]);
    }

    #[test]
    fn streams_may_run_ahead_into_the_next_page() {
        let stream = Prefetch::Stream { distance: 4, degree: 2, crosses: true };
        let mut prefetcher = Prefetcher::new(&[stream]);
        let wanted: Vec<Vec<Line>> =
            [124, 125, 126, 127, 128].map(|line| wants(&mut prefetcher, line)).into_iter().collect();
        assert_eq!(wanted[2..], [vec![127, 128], vec![129, 130], vec![131, 132]]);
        let mut prefetcher = Prefetcher::new(&[stream]);
        let down: Vec<Vec<Line>> =
            [130, 129, 128, 127].map(|line| wants(&mut prefetcher, line)).into_iter().collect();
        assert_eq!(down[2..], [vec![127, 126], vec![125, 124]]);
    }
}
