import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const TOP = 15;

interface CallFrame {
  readonly functionName: string;
  readonly url: string;
  readonly lineNumber: number;
}

/** The output of `node --cpu-prof`: samples of call tree nodes, and the microseconds between samples. */
interface CpuProfile {
  readonly nodes: readonly { readonly id: number; readonly callFrame: CallFrame }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

const nameOf = ({ functionName, url, lineNumber }: CallFrame): string => {
  const path = url.startsWith('file:') ? fileURLToPath(url) : url;
  const place = path === '' ? '' : ` ${basename(dirname(path))}/${basename(path)}:${lineNumber + 1}`;
  return `${functionName || '(anonymous)'}${place}`;
};

/** CPU seconds by function, most expensive first, without waiting. */
const costsOf = ({ nodes, samples, timeDeltas }: CpuProfile): readonly (readonly [string, number])[] => {
  const names = new Map(nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]));
  const costs = new Map<string, number>();
  samples.forEach((id, index) => {
    const name = names.get(id) ?? '';
    if (name !== '(idle)') costs.set(name, (costs.get(name) ?? 0) + (timeDeltas[index] ?? 0) / 1e6);
  });
  return [...costs].sort((a, b) => b[1] - a[1]);
};

/** The program that wrote the profile: the first of its own files that it ran. */
const programOf = ({ nodes }: CpuProfile): string => {
  const own = nodes.map(({ callFrame }) => callFrame.url).find((url) => url.includes('/apps/'));
  return own?.match(/\/apps\/([^/]+)\//)?.[1] ?? 'another program';
};

/** The most expensive functions in each profile of the folder, as text. */
export const profileTable = (folder: string): string =>
  readdirSync(folder)
    .filter((file) => file.endsWith('.cpuprofile'))
    .map((file) => ({ file, profile: JSON.parse(readFileSync(join(folder, file), 'utf8')) as CpuProfile }))
    .map(({ file, profile }) => {
      const costs = costsOf(profile);
      const total = costs.reduce((sum, [, seconds]) => sum + seconds, 0);
      const lines = costs
        .slice(0, TOP)
        .map(([name, seconds]) => `  ${((seconds / total) * 100).toFixed(1).padStart(5)} %  ${name}`);
      return [`${programOf(profile)}: ${total.toFixed(1)} s (${file})`, ...lines].join('\n');
    })
    .join('\n\n');
