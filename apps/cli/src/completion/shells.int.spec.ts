import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { provideDebianTree } from '@fairlead/embedded/apt';
import { cacheFolder } from '@fairlead/mirror';
import { newFolder, removeFolder } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { clusterView, FakeGateway } from '../spec/gateway.fixtures.js';
import { COMPLETION_SCRIPTS } from './scripts.js';

const PROGRAM = fileURLToPath(new URL('../../bin/fairlead.mjs', import.meta.url));
/** A shell starts the whole program for each completion, possibly on a busy machine. */
const TIMEOUT_MS = 120_000;

const folder = newFolder('shells');
const gateway = new FakeGateway();
/** Shells that are not installed on this machine are extracted from their packages. */
const tree = join(cacheFolder(process.env), 'shells');

const isMissing = (name: string): boolean => !existsSync(`/usr/bin/${name}`) && !existsSync(`/bin/${name}`);
const missing = ['zsh', 'fish'].filter(isMissing);
const reasons = missing.length === 0 ? [] : await provideDebianTree(missing, tree);
if (reasons.length > 0) process.stderr.write(`\n!!! NOT CHECKED by ${missing.join(', ')}: ${reasons.join('; ')}\n\n`);
const itIn = (name: string): typeof it | typeof it.skip => (reasons.length > 0 && isMissing(name) ? it.skip : it);

const PATHS = `${folder}:${tree}/usr/bin:${tree}/bin:/usr/bin:/bin`;

/** The output of a shell that has only this program and its completion. */
const shell = async (words: readonly string[]): Promise<string> => {
  const env = {
    HOME: folder,
    PATH: PATHS,
    TERM: 'dumb',
    LD_LIBRARY_PATH: `${tree}/usr/lib/x86_64-linux-gnu:${tree}/lib/x86_64-linux-gnu`,
    FAIRLEAD_SERVER: gateway.url,
    FAIRLEAD_TOKEN: 'secret',
    SPEC_FOLDER: folder,
  };
  const [program = '', ...args] = words;
  const { stdout } = await promisify(execFile)('env', [program, ...args], { env, timeout: TIMEOUT_MS });
  return stdout;
};

beforeAll(async () => {
  await gateway.start();
  const named = (...names: readonly string[]) => ({ body: { items: names.map((name) => ({ name })) } });
  gateway
    .on('GET', '/ns/default/clusters', {
      body: { items: [clusterView(), clusterView({ name: 'demo-2' }), clusterView({ name: 'other' })] },
    })
    .on('GET', '/ns/default/clusters/demo/nodes', named('demo-cp-1', 'demo-w-1'))
    .on('GET', '/ns/default/clusters/demo/manifest', { body: { spec: { pools: [{ name: 'web' }] } } });
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'fairlead'), `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' "$@"\n`);
  await chmod(join(folder, 'fairlead'), 0o755);
  await writeFile(join(folder, 'fairlead.fish'), COMPLETION_SCRIPTS.fish);
  await writeFile(join(folder, 'fairlead.zsh'), COMPLETION_SCRIPTS.zsh);
}, TIMEOUT_MS);
afterAll(async () => {
  await gateway.stop();
  removeFolder(folder);
});

/** Names from the server, words of the program, and an option's value. */
const CASES = [
  ['fairlead cluster get oth', ['other']],
  ['fairlead node drain demo demo-w', ['demo-w-1']],
  ['fairlead pool scale demo w', ['web']],
  ['fairlead upgr', ['upgrade']],
] as const;

describe('completion in a real fish', () => {
  itIn('fish')(
    'completes like the program, with names from the server',
    async () => {
      const lines = CASES.map(([line]) => `complete -C '${line}'; echo .`).join('; ');
      const script = `source ${folder}/fairlead.fish; complete -C 'fairlead cluster get '; echo .; ${lines}`;
      const answers = (await shell(['fish', '--no-config', '-c', script])).split('.\n').map((text) =>
        text
          .split('\n')
          .map((word) => word.trim())
          .filter((word) => word !== ''),
      );
      expect(answers.slice(0, -1)).toEqual([['demo', 'demo-2', 'other'], ...CASES.map(([, words]) => [...words])]);
    },
    TIMEOUT_MS,
  );
});

/** An interactive zsh on a pseudo-terminal, which receives Tab; Ctrl-X then writes the line to a file. */
const ZSH = `
fpath=(${tree}/usr/share/zsh/functions/{,Completion/}*(N/) $fpath); module_path=(${tree}/usr/lib/x86_64-linux-gnu/zsh/*(N/) $module_path)
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "fpath=($fpath); module_path=($module_path); PROMPT=; autoload -Uz compinit; compinit -u -d $SPEC_FOLDER/.zcompdump; source $SPEC_FOLDER/fairlead.zsh"
zpty -w z 'write-down() { print -r -- "$BUFFER" >>$SPEC_FOLDER/lines; BUFFER=; print >>$SPEC_FOLDER/done }; zle -N write-down; bindkey "^X" write-down; print -r -- REA""DY'
zpty -r -m z output '*READY*'
for line in "$@"; do
  rm -f $SPEC_FOLDER/done
  zpty -w -n z "$line"$'\\t'$'\\x18'
  for try in {1..600}; do [[ -e $SPEC_FOLDER/done ]] && break; zpty -r -t z output; sleep 0.1; done
done
cat $SPEC_FOLDER/lines
`;

describe('completion in a real zsh', () => {
  itIn('zsh')(
    'completes words of the program and names from the server',
    async () => {
      const printed = await shell(['zsh', '-f', '-c', ZSH, 'zsh', ...CASES.map(([line]) => line)]);
      const completed = CASES.map(([line, [word]]) => `${line.slice(0, line.lastIndexOf(' '))} ${word}`);
      expect(printed.split('\n').map((line) => line.trimEnd())).toEqual([...completed, '']);
    },
    TIMEOUT_MS,
  );
});
