import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { builtHelm, HELM_VERSION } from '@fairlead/mirror';
import { buildGo } from './go.js';
import type { GoRecipe } from './recipes.js';
import { Refusal } from './refusal.js';

const HELM = 'helm.sh/helm/v3';

const RECIPE: GoRecipe = {
  name: `helm-${HELM_VERSION}`,
  title: `Helm ${HELM_VERSION}`,
  modules: [`${HELM}@${HELM_VERSION}`],
  programs: { [`${HELM}/cmd/helm`]: 'helm' },
  linkerVariables: { [`${HELM}/internal/version.version`]: HELM_VERSION },
};

const say = (text: string): void => void process.stderr.write(`${text}\n`);

/** Builds helm from its Go module, for machines without access to release sites. */
const main = async (): Promise<void> => {
  const program = builtHelm(process.env);
  await mkdir(dirname(program), { recursive: true });
  const scratch = await mkdtemp(join(dirname(program), 'making-'));
  const interrupted = new AbortController();
  process.once('SIGINT', () => interrupted.abort(new Refusal('Stopped.')));
  try {
    const into = join(scratch, 'files');
    await buildGo(RECIPE, { folder: join(scratch, 'work'), into, signal: interrupted.signal, onNote: () => undefined });
    await rename(join(into, 'helm'), program);
    say(`${program} is ${RECIPE.title}.`);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
};

main().catch((error: unknown) => {
  const isReported = error instanceof Refusal;
  say(`helm:build: ${isReported ? error.message : error instanceof Error ? error.stack : String(error)}`);
  process.exitCode = isReported ? 1 : 70;
});
