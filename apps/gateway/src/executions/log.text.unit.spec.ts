import { describe, expect, it } from '@jest/globals';
import { oldestFirst } from './log.text.js';

const NEWEST_FIRST =
  '2026 host kubelet[7]: third\n2026 host kubelet[7]: second\n    of two lines\n2026 host kubelet[7]: first\n';

describe('the log of a unit that was read from its end', () => {
  it('begins with the oldest entry, and keeps the lines of a message together', () => {
    expect(oldestFirst(NEWEST_FIRST, false)).toBe(
      '2026 host kubelet[7]: first\n2026 host kubelet[7]: second\n    of two lines\n2026 host kubelet[7]: third\n',
    );
    expect(oldestFirst('-- No entries --\n', false)).toBe('-- No entries --\n');
    expect(oldestFirst('', false)).toBe('');
  });

  it('lacks its oldest entries, and says so, where it would be too long', () => {
    const [marker, ...entries] = oldestFirst(NEWEST_FIRST.slice(0, -9), true).split('\n');
    expect(marker).toContain('earlier entries are left out');
    expect(entries).toEqual(['2026 host kubelet[7]: second', '    of two lines', '2026 host kubelet[7]: third', '']);
  });
});
