import { errorCodeOf } from '@fairlead/contracts';
import { cp, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { run } from './command.js';
import { Refusal } from './refusal.js';
import { goModOf, goVersionOf, splitModule, type GoRecipe } from './recipes.js';

/** Static programs for linux/amd64, whatever the build machine is. */
const TARGET = { CGO_ENABLED: '0', GOOS: 'linux', GOARCH: 'amd64', GOAMD64: 'v1', GOWORK: 'off' } as const;

/** Go 1.21 and later download a newer toolchain automatically, unless this is disabled. */
const GO_MIN = '1.21';

export interface GoWork {
  /** An empty folder for the temporary module. */
  readonly folder: string;
  /** The folder for the programs. */
  readonly into: string;
  readonly signal: AbortSignal;
  readonly onNote: (note: string) => void;
}

interface Downloaded {
  readonly GoMod: string;
  readonly Dir: string;
  readonly Info: string;
}

/**
 * Builds a recipe's programs reproducibly: the output depends only on the recipe and the Go version, and contains no
 * path, user or time of the build machine.
 */
export const buildGo = async (recipe: GoRecipe, work: GoWork): Promise<void> => {
  const root = await download(recipe.modules[0] ?? '', work);
  const goMod = await readFile(root.GoMod, 'utf8');
  await refuseOldGo(recipe, goVersionOf(goMod), work.signal);
  await mkdir(work.folder, { recursive: true });
  await mkdir(work.into, { recursive: true });
  await writeFile(join(work.folder, 'go.mod'), goModOf(recipe, goMod));
  await writeFile(join(work.folder, 'build.go'), 'package build\n');
  await resolveModules(recipe, root, work);
  const flags = ['-mod=mod', '-trimpath', '-buildvcs=false', '-ldflags', await linkerFlags(recipe, root)];
  await compile(recipe, flags, work);
};

const go = (args: readonly string[], work: Pick<GoWork, 'folder' | 'signal'>, onLine?: (line: string) => void) =>
  run('go', args, {
    cwd: work.folder,
    env: TARGET,
    signal: work.signal,
    ...(onLine === undefined ? {} : { onLine }),
  });

const download = async (module: string, work: GoWork): Promise<Downloaded> => {
  work.onNote(`downloading ${module}`);
  await mkdir(work.folder, { recursive: true });
  return JSON.parse(await go(['mod', 'download', '-json', module], work)) as Downloaded;
};

const resolveModules = async (recipe: GoRecipe, root: Downloaded, work: GoWork): Promise<void> => {
  for (const replace of recipe.replace ?? []) await go(['mod', 'edit', '-replace', replace], work);
  if (recipe.changes !== undefined) await replaceByCopy(recipe, root, work);
  if (recipe.staging === true) return; // Its go.mod lists all dependencies.
  await go(['get', ...recipe.modules], work, (line) => work.onNote(line.replace(/^go: /, '')));
};

/** The module cache is read-only and verified, so changes are made in a copy. */
const replaceByCopy = async (recipe: GoRecipe, root: Downloaded, work: GoWork): Promise<void> => {
  const copy = join(work.folder, 'changed');
  await cp(root.Dir, copy, { recursive: true });
  await run('chmod', ['-R', 'u+w', copy]);
  for (const [path, text] of Object.entries(recipe.changes ?? {})) {
    if (text === null) await rm(join(copy, path));
    else await writeFile(join(copy, path), text);
  }
  const [module] = splitModule(recipe.modules[0] ?? '');
  await go(['mod', 'edit', '-replace', `${module}=./changed`], work);
};

/** Kubernetes reports its build time. The release time is used, so that two builds are identical. */
const linkerFlags = async (recipe: GoRecipe, root: Downloaded): Promise<string> => {
  const { Time } = JSON.parse(await readFile(root.Info, 'utf8')) as { Time: string };
  const dated = recipe.staging === true ? { 'k8s.io/component-base/version.buildDate': Time } : {};
  const variables = Object.entries({ ...recipe.linkerVariables, ...dated });
  return ['-s -w', ...variables.map(([name, value]) => `-X ${name}=${value}`)].join(' ');
};

const compile = async (recipe: GoRecipe, flags: readonly string[], work: GoWork): Promise<void> => {
  let packages = 0;
  const onLine = () => {
    packages += 1;
    work.onNote(`${packages} packages compiled`);
  };
  const built = join(work.folder, 'built');
  await mkdir(built);
  // One command for all programs: shared packages are compiled once, and the programs are linked in parallel.
  await go(['build', '-v', ...flags, '-o', `${built}/`, ...Object.keys(recipe.programs)], work, onLine);
  for (const [path, name] of Object.entries(recipe.programs))
    await rename(join(built, binaryOf(path)), join(work.into, name));
  for (const [path, name] of Object.entries(recipe.tests ?? {})) {
    await go(['test', '-c', '-v', ...flags, '-o', join(work.into, name), path], work, onLine);
  }
};

/**
 * The file name that `go build` gives to a program: the last part of its import path, or the part before a major
 * version.
 */
const binaryOf = (path: string): string => {
  const parts = path.split('/');
  const last = parts.at(-1) ?? '';
  return /^v\d+$/.test(last) ? (parts.at(-2) ?? last) : last;
};

/** The version of the Go on the PATH. Throws Refusal, with installation instructions, if there is none. */
export const goVersion = async (): Promise<string> => {
  try {
    return (await run('go', ['env', 'GOVERSION'])).trim().replace(/^go/, '');
  } catch (error) {
    if (errorCodeOf(error) !== 'ENOENT') throw error;
    throw new Refusal(
      `Go is not on the PATH, and Kubernetes is built with it. Install Go ${GO_MIN} or newer from https://go.dev/dl, then run this again; what is built already stays.`,
    );
  }
};

const refuseOldGo = async (recipe: GoRecipe, needed: string, signal: AbortSignal): Promise<void> => {
  const there = await goVersion();
  if (!isOlder(there, needed)) return;
  const toolchain = (await run('go', ['env', 'GOTOOLCHAIN'], { signal })).trim();
  if (!isOlder(there, GO_MIN) && toolchain !== 'local') return;
  throw new Refusal(
    `${recipe.title} needs Go ${needed} or newer; this is ${there}. Install a newer one from https://go.dev/dl, or let this one fetch it: "go env -w GOTOOLCHAIN=auto".`,
  );
};

/** Compares 1.24.0 with 1.26.8 or 1.27rc1. */
export const isOlder = (version: string, than: string): boolean => {
  const numbers = (text: string) => text.split(/[.a-z]/).map((part) => Number.parseInt(part, 10) || 0);
  const [left, right] = [numbers(version), numbers(than)];
  const at = right.findIndex((number, index) => number !== (left[index] ?? 0));
  return at >= 0 && (left[at] ?? 0) < (right[at] ?? 0);
};

/** Builds one of our own source files. */
export const buildOwn = async (source: string, program: string, work: GoWork): Promise<void> => {
  await mkdir(work.folder, { recursive: true });
  await mkdir(dirname(program), { recursive: true });
  await writeFile(join(work.folder, 'go.mod'), `module fairlead.dev/build\n\ngo ${GO_MIN}\n`);
  await cp(source, join(work.folder, 'main.go'));
  await go(['build', '-trimpath', '-buildvcs=false', '-ldflags', '-s -w', '-o', program, '.'], work);
};
