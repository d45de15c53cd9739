// npm run conformance:provider -- <address> --region <name> --spec <size> [...]: runs the contract suite of the
// provider port, which the built-in providers also pass, against an external provider (docs/provider-protocol.md).
// Creates machines and deletes them.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = fileURLToPath(new URL('..', import.meta.url));
const HELP = `usage: npm run conformance:provider -- <address> --region <name> --spec <size> [options]

<address>             unix:/run/provider.sock, or host:port
--region <name>       a region that it has
--spec <size>         a machine size that can run a control plane
--options <file>      the setting "options" of the connection, as JSON
--secret-file <file>  the secret of the connection
--cidr <network>      a network that it can make (192.168.77.0/24)
--minutes <n>         how long one step may take (5)
`;
const usage = (text, code) => {
  (code === 0 ? process.stdout : process.stderr).write(text);
  process.exit(code);
};
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    cidr: { type: 'string', default: '192.168.77.0/24' },
    help: { type: 'boolean' },
    minutes: { type: 'string', default: '5' },
    options: { type: 'string' },
    region: { type: 'string' },
    'secret-file': { type: 'string' },
    spec: { type: 'string' },
  },
});
if (values.help) usage(HELP, 0);
const [address] = positionals;
if (address === undefined || values.region === undefined || values.spec === undefined) usage(HELP, 2);
const { cidr, region, spec } = values;
const tested = {
  ...{ address, cidr, region, spec, minutes: Number(values.minutes) },
  options: values.options === undefined ? {} : JSON.parse(readFileSync(values.options, 'utf8')),
  secret: values['secret-file'] === undefined ? '' : readFileSync(values['secret-file'], 'utf8').trim(),
};
const { status } = spawnSync(
  process.execPath,
  [
    ...['--experimental-vm-modules', '--no-warnings', join(root, 'node_modules/jest/bin/jest.js')],
    ...['--maxWorkers=1', '--verbose', '--forceExit', '--testMatch', '**/address.features.ts'],
    ...['--runTestsByPath', join(root, 'apps/infra-svc/src/adapters/external/address.features.ts')],
  ],
  { cwd: root, stdio: 'inherit', env: { ...process.env, FAIRLEAD_PROVIDER: JSON.stringify(tested) } },
);
process.exit(status ?? 1);
