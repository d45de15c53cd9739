import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));

export const textIn = (file: string): string => readFileSync(`${root}${file}`, 'utf8');

const sourcesIn = (folder: string): readonly string[] =>
  readdirSync(`${root}${folder}`, { withFileTypes: true }).flatMap((entry) => {
    const at = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return ['dist', 'node_modules'].includes(entry.name) ? [] : sourcesIn(at);
    return /\.tsx?$/.test(at) && !/\.(spec|fixtures|features|d)\.tsx?$/.test(at) ? [at] : [];
  });

/** The sources of all programs and libraries, without those for specs. */
export const sources = ['apps', 'libs'].flatMap((group) =>
  readdirSync(`${root}${group}`).flatMap((project) => sourcesIn(`${group}/${project}/src`)),
);
