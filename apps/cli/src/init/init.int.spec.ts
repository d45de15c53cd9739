import { newFolder, removeFolder } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fakeIo, run } from '../spec/io.fixtures.js';

let folder: string;
beforeEach(() => {
  folder = newFolder('init');
});
afterEach(() => removeFolder(folder));

const init = (...args: readonly string[]) => run(['init', ...args], fakeIo({ cwd: folder }));
const verdict = (text: string) => run(['validate', '-f', '-'], fakeIo({ stdin: text, cwd: folder }));

const SHAPES = [
  [],
  ['shop', '--provider', 'ssh', '--connection', 'site', '--machine-type', 'rack.large'],
  ['shop', '--provider', 'nspawn', '--control-planes', '5', '--workers', '4', '--cni', 'cilium'],
  ['small', '--workers', '0', '--namespace', 'team-a', '--kubernetes-version', '1.35.4'],
];

describe('fairlead init', () => {
  it.each(SHAPES)('prints a valid manifest: %j', async (...args) => {
    const { code, stdout, stderr } = await init(...args);
    expect([code, stderr]).toEqual([0, '']);
    expect((await verdict(stdout)).stderr).toBe('');
  });

  it.each(SHAPES)('suggests only valid fields: %j', async (...args) => {
    const { stdout } = await init(...args);
    const used = stdout.replaceAll(/^(\s*)#(?=\w)/gm, '$1');
    expect(used).not.toBe(stdout);
    expect((await verdict(used)).stderr).toBe('');
  });

  it('names an existing schema, whether it prints or writes', async () => {
    const printed = /^# yaml-language-server: \$schema=(\S+)\n/.exec((await init()).stdout)?.[1] ?? '';
    expect(existsSync(fileURLToPath(printed))).toBe(true);
    expect((await init('demo', '-f', 'demo.yaml')).stderr).toContain('cluster.schema.json beside it');
    const written = readFileSync(join(folder, 'demo.yaml'), 'utf8');
    expect(written).toMatch(/^# yaml-language-server: \$schema=\.\/cluster\.schema\.json\n/);
    expect(readFileSync(join(folder, 'cluster.schema.json'), 'utf8')).toBe((await run(['schema'], fakeIo())).stdout);
  });

  it('replaces a file only with an explicit option', async () => {
    await init('demo', '-f', 'demo.yaml');
    const again = await init('shop', '-f', 'demo.yaml');
    expect([again.code, again.stderr]).toEqual([6, expect.stringContaining('exists already')]);
    expect(readFileSync(join(folder, 'demo.yaml'), 'utf8')).toContain('name: demo');
    expect((await init('shop', '-f', 'demo.yaml', '--force')).code).toBe(0);
  });

  it.each([
    [['Shop!'], 'Field: metadata.name'],
    [['shop', '--kubernetes-version', '1.2.3'], 'v1.2.3'],
    [['shop\nspec: {}'], 'Error:'],
    [['shop', '--control-planes', '3', '--workers', '0'], 'cluster.single-node'],
    // Hosts that join by themselves cannot be control planes.
    [['shop', '--provider', 'join'], 'Allowed choices are aws, external, lab, nspawn, openstack, ssh'],
  ])('writes nothing that the server would refuse: %j', async (args, words) => {
    const { code, stdout, stderr } = await init(...args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(words);
  });

  describe('on a terminal', () => {
    /** Answers in order, and records the questions. */
    const answering = (...answers: readonly string[]) => {
      const questions: string[] = [];
      const left = [...answers];
      const ask = async (question: string): Promise<string> => {
        questions.push(question);
        return left.shift() ?? '';
      };
      return { questions, io: { ...fakeIo({ cwd: folder }), ask } };
    };

    it('asks for missing values, shows the defaults, and writes the answers', async () => {
      const { questions, io } = answering('shop', 'ssh', '', 'rack.large', '4', '', '', 'calico');
      const { code, stdout } = await run(['init'], io);
      expect(code).toBe(0);
      expect(questions).toEqual([
        'Name of the cluster [demo]: ',
        'Provider (aws, external, lab, nspawn, openstack, ssh) [lab]: ',
        'Connection [site]: ',
        expect.stringMatching(/^Machine type \[.+\]: $/),
        'Workers (0: a single node) [2]: ',
        'Control planes (1, 3 or 5) [3]: ',
        expect.stringMatching(/^Kubernetes version \[v1\.\d+\.\d+\]: $/),
        'Pod network (calico, flannel, cilium) [flannel]: ',
      ]);
      expect(stdout).toMatch(
        /name: shop\n[\s\S]*cni: calico[\s\S]*replicas: 3 #[\s\S]*rack\.large[\s\S]*replicas: 4\n/,
      );
      expect((await verdict(stdout)).stderr).toBe('');
    });

    it('explains an invalid answer, and asks again', async () => {
      const { questions, io } = answering('Shop!', 'shop', '', '', '', 'many', '0');
      const { code, stdout, stderr } = await run(['init', '--cni', 'flannel', '--kubernetes-version', '1.34.4'], io);
      expect([code, stdout]).toEqual([0, expect.stringContaining('schedulable: true')]);
      expect(stderr).toContain('It must be lowercase letters');
      expect(stderr).toContain('It must be a whole number from 0 to 500.');
      // A single node has one control plane.
      expect(questions.filter((question) => question.startsWith('Control planes'))).toEqual([]);
    });

    it('fails after several invalid answers, and asks nothing with --yes', async () => {
      const wrong = answering(...Array.from({ length: 9 }, () => 'No!'));
      expect((await run(['init'], wrong.io)).code).toBe(2);
      const quiet = answering();
      const { code, stdout } = await run(['init', '--yes'], quiet.io);
      expect([code, quiet.questions]).toEqual([0, []]);
      expect(stdout).toBe((await init()).stdout);
    });
  });
});
