import { currentWork } from '@fairlead/event-sourcing/jetstream';
import { eventually } from '@fairlead/testing';
import { describe, expect, it } from '@jest/globals';
import { BlockFinder, watchEventLoop, type BlockReport } from './event.loop.js';
import { ServiceMetrics } from './metrics/service.metrics.js';

/** A finder with checks at these times, each with the CPU time used since the previous one. */
const finder = () => {
  const reports: BlockReport[] = [];
  const asked: (readonly number[])[] = [];
  const reading = { atMs: 0, cpuMs: 0 };
  const work = {
    between: (...moments: [number, number]): readonly string[] => {
      asked.push(moments);
      return ['CheckGates of default/demo'];
    },
  };
  const found = new BlockFinder(work, (report) => void reports.push(report), { ...reading });
  const after = (ms: number, cpuMs: number): void => {
    reading.atMs += ms;
    reading.cpuMs += cpuMs;
    found.look({ ...reading });
  };
  return { after, reports, asked };
};

describe('the event loop', () => {
  it('is reported after a block of more than 2 s, with the work in progress', () => {
    const { after, reports, asked } = finder();
    after(1_000, 500);
    after(2_900, 2_000);
    expect(reports).toEqual([]);
    after(5_200, 4_300);
    expect(reports).toEqual([{ blockedMs: 4_200, times: 1, work: ['CheckGates of default/demo'] }]);
    expect(asked).toEqual([[4_900, 9_100]]);
  });

  it('is not reported if the process had no CPU: it was stopped, or its machine is overloaded', () => {
    const { after, reports } = finder();
    after(30_000, 500);
    expect(reports).toEqual([]);
  });

  it('is reported once per minute, with the longest block and the number of blocks', () => {
    const { after, reports } = finder();
    after(4_000, 4_000);
    after(10_000, 10_000);
    after(6_000, 6_000);
    expect(reports.map(({ blockedMs, times }) => [blockedMs, times])).toEqual([[3_000, 1]]);
    for (let seconds = 0; seconds < 60; seconds += 1) after(1_000, 10);
    expect(reports.map(({ blockedMs, times }) => [blockedMs, times])).toEqual([
      [3_000, 1],
      [9_000, 2],
    ]);
  });

  it('is monitored in a real process: a metric has its delay, and a report names what blocked it', async () => {
    const metrics = new ServiceMetrics('gateway');
    const reports: BlockReport[] = [];
    const stop = watchEventLoop(metrics, (report) => void reports.push(report));
    const delay = async (): Promise<number> => {
      const line = (await metrics.text()).body
        .split('\n')
        .find((each) => each.startsWith('fairlead_event_loop_delay_seconds{'));
      return Number(line?.split(' ').at(-1));
    };
    try {
      // A block is detected by a late tick, so one tick is required first.
      const startedAtMs = performance.now();
      await eventually(() => performance.now() - startedAtMs > 600);
      currentWork.during('a loop of this spec', () => {
        // Measured in CPU time, so that the block is as long on a loaded machine.
        const used = (): number => process.cpuUsage().user + process.cpuUsage().system;
        const until = used() + 2_200_000;
        while (used() < until) JSON.stringify(Array.from({ length: 10_000 }, (_, at) => at));
      });
      await eventually(() => reports.length > 0);
      expect(reports[0]?.work[0]).toBe('a loop of this spec');
      expect(reports[0]?.blockedMs).toBeGreaterThan(2_000);
      let longest = 0;
      await eventually(async () => (longest = Math.max(longest, await delay())) > 2);
    } finally {
      stop();
    }
  });
});
