import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '@fairlead/testing';
import type { System } from './system.js';

type Outcome = 'answered' | 'failed';

/** Number of provider polls with this outcome, as counted by infra-svc. */
const looks = async ({ environment }: System, outcome: Outcome): Promise<number> => {
  const printed = readFileSync(join(environment.dataDir, 'logs', 'infra-svc.log'), 'utf8');
  const port = [...printed.matchAll(/^FAIRLEAD READY infra-svc (\d+)$/gmu)].at(-1)?.[1];
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const line = new RegExp(`^fairlead_provider_looks_total\\{.*outcome="${outcome}".*\\} (\\d+)$`, 'mu');
  return Number(line.exec(text)?.[1] ?? 0);
};

/** Waits until this many more polls had this outcome. */
export const looksMore = async (system: System, outcome: Outcome, count: number, withinMs: number): Promise<void> => {
  const before = await looks(system, outcome);
  await eventually(
    () => looks(system, outcome),
    (now) => now >= before + count,
    { withinMs, everyMs: 100 },
  );
};
