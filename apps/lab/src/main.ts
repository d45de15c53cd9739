import { wordsOf } from '@fairlead/contracts';
import { startLab } from './lab.js';
import { USAGE, parseConfig } from './lab.config.js';

const USAGE_EXIT_CODE = 2;

const complain = (error: unknown): void => {
  process.stderr.write(`lab: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
};

const run = async (): Promise<void> => {
  const config = parseConfig(process.argv.slice(2), process.env);
  const lab = await startLab(config, complain);
  process.stdout.write(`FAIRLEAD READY lab ${lab.port}\n`);
  let stopping = false;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (stopping) return;
      stopping = true;
      lab.stop().then(
        () => process.exit(0),
        (error: unknown) => {
          complain(error);
          process.exit(1);
        },
      );
    });
  }
};

// A failing host must never affect other hosts.
process.on('unhandledRejection', complain);

run().catch((error: unknown) => {
  process.stderr.write(`lab: ${wordsOf(error)}\n${USAGE}\n`);
  process.exit(USAGE_EXIT_CODE);
});
