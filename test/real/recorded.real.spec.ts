import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseCatalogue, releaseIn } from '@fairlead/contracts';
import { localMirror } from '@fairlead/mirror';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { preparation } from '../recorded/preparation.js';
import { QUESTIONS, surroundings, withoutSecrets, type Question } from '../recorded/questions.js';
import { answersIn, fileOf, RECORDED_VERSIONS, shapeOf, textOf, type RecordedVersion } from '../recorded/recorded.js';
import { machinesOf, startRealSystem, type RealSystem } from './real.system.js';

const MINUTE_MS = 60_000;
/** `npm run fixtures:record`: differing output of the tools is recorded instead of compared. */
const RECORDS = process.env['FAIRLEAD_RECORD'] === 'yes';

const catalogue = parseCatalogue(readFileSync(join(localMirror(process.env), 'catalogue.json'), 'utf8'), 'the mirror');

const etcdToolsOf = (version: RecordedVersion): string =>
  (releaseIn(catalogue, version)?.tools[0] ?? '').replace(/\/[^/]*$/, '');

const before = (version: RecordedVersion): ReadonlyMap<string, string> =>
  existsSync(fileOf(version)) ? answersIn(readFileSync(fileOf(version), 'utf8')) : new Map<string, string>();

describe.each(RECORDED_VERSIONS)('the output of tools on a real control plane of %s', (version) => {
  let system: RealSystem;
  let host: string;
  const known = before(version);
  const found = new Map<string, string>();

  const ask = async (question: Question): Promise<string> => {
    const line = `${surroundings(etcdToolsOf(version))}; ${QUESTIONS[question]}`;
    const { code, stdout, stderr } = await system.local.hosts.execute(host, ['sh', '-c', line], MINUTE_MS);
    const exit = code === 0 ? '' : `(exit code ${code})\n`;
    const said = `${stdout}${stdout === '' || stdout.endsWith('\n') ? '' : '\n'}${stderr}${exit}`;
    return withoutSecrets(question, said.replaceAll(host, 'cp-1'));
  };

  beforeAll(async () => {
    system = await startRealSystem();
    const events = await system.create('recorded', { controlPlanes: 1, workers: 0 }, version);
    host = machinesOf(events)[0]?.providerId.split('/').at(-1) ?? '';
    const prepared = await system.local.hosts.execute(host, ['sh', '-c', preparation(version)], 3 * MINUTE_MS);
    if (prepared.code !== 0) throw new Error(`the host is not prepared: ${prepared.stderr}${prepared.stdout}`);
    for (const question of Object.keys(QUESTIONS) as Question[]) found.set(QUESTIONS[question], await ask(question));
    if (!RECORDS) return;
    const same = (command: string, answer: string): string => {
      const old = known.get(command);
      return old !== undefined && shapeOf(old).join('\n') === shapeOf(answer).join('\n') ? old : answer;
    };
    writeFileSync(
      fileOf(version),
      textOf(new Map([...found].map(([command, answer]) => [command, same(command, answer)]))),
    );
  }, 10 * MINUTE_MS);

  afterAll(() => system?.stop(), 2 * MINUTE_MS);

  it.each(Object.values(QUESTIONS))('matches its record for: %s', (command) => {
    const recorded = (RECORDS ? answersIn(readFileSync(fileOf(version), 'utf8')) : known).get(command);
    expect(shapeOf(found.get(command) ?? 'nothing')).toEqual(shapeOf(recorded ?? 'nothing is recorded'));
  });
});
