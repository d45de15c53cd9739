import { writeFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { withShellHosts } from './bare-shell/shell.hosts.js';
import { profileText } from './profile.js';
import { startRealSystem, VERSION } from './real.system.js';

const TIMES = Number(process.env['FAIRLEAD_RATIO_TIMES'] ?? 3);
const RATIO_MAX = 1.2;
const MINUTE_MS = 60_000;

const say = (text: string): void => void process.stdout.write(`${text}\n`);

/** Seconds to five Ready nodes by a shell script, on the same hosts and from the same mirror. */
const byShell = (by: 'create' | 'createAsExpert'): Promise<number> =>
  withShellHosts(async ({ begunAt, [by]: create }) => {
    const printed = await create(VERSION);
    const seconds = (performance.now() - begunAt) / 1_000;
    say(`by shell, ${by} (its own clock begins when the hosts are asked for SSH):\n${printed}`);
    return seconds;
  });

/** Seconds from the request to five Ready nodes, by Fairlead. */
const byFairlead = async (): Promise<number> => {
  const system = await startRealSystem();
  try {
    const events = await system.create('ratio');
    say(`by Fairlead:\n${profileText(events)}`);
    const begun = Date.parse(events[0]?.meta.time ?? '');
    const ready = events.filter(({ type }) => type === 'NodeReady').map(({ meta }) => Date.parse(meta.time));
    return (Math.max(...ready) - begun) / 1_000;
  } finally {
    await system.stop();
  }
};

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;

it(
  `takes at most ${RATIO_MAX} times as long as a plain shell to five Ready nodes`,
  async () => {
    const shell: number[] = [];
    const expert: number[] = [];
    const fairlead: number[] = [];
    for (let time = 0; time < TIMES; time += 1) {
      shell.push(await byShell('create'));
      expert.push(await byShell('createAsExpert'));
      fairlead.push(await byFairlead());
    }
    const ratio = median(fairlead) / median(shell);
    const seconds = (values: readonly number[]): string => values.map((value) => value.toFixed(1)).join(', ');
    const toExpert = median(fairlead) / median(expert);
    const table = `by shell: ${seconds(shell)} s; by an expert's shell: ${seconds(expert)} s; by Fairlead: ${seconds(fairlead)} s; ratio of the medians: ${ratio.toFixed(2)}, to the expert's: ${toExpert.toFixed(2)}`;
    say(table);
    const file = process.env['FAIRLEAD_RATIO_FILE'];
    if (file !== undefined) writeFileSync(file, `${table}\n`);
    expect(ratio).toBeLessThanOrEqual(RATIO_MAX);
  },
  60 * MINUTE_MS,
);
