import { TUNNEL, wordsOf } from '@fairlead/contracts';
import { ConfigurationError } from '@fairlead/service-kit/config';
import { DependencyAway, EXIT_DEPENDENCY_AWAY } from '@fairlead/service-kit/patience';
import { readSettings } from './config.js';
import { startTunnel } from './service.js';

const EXIT_CONFIGURATION = 2;

/** One JSON line for each, as the services write them. */
const say = (level: 'log' | 'warn' | 'error', message: string): void => {
  process.stdout.write(
    `${JSON.stringify({ level, pid: process.pid, timestamp: Date.now(), message, context: TUNNEL })}\n`,
  );
};

const exitCodeOf = (error: unknown): number => {
  if (error instanceof ConfigurationError) return EXIT_CONFIGURATION;
  return error instanceof DependencyAway ? EXIT_DEPENDENCY_AWAY : 1;
};

const main = async (): Promise<void> => {
  try {
    const tunnel = await startTunnel(readSettings(process.env), say);
    const stop = (): void => void tunnel.stop().then(() => process.exit(0));
    process.once('SIGTERM', stop);
    process.once('SIGINT', stop);
    void tunnel.lost.then((words) => {
      if (words === undefined) return;
      process.stderr.write(`${TUNNEL}: the connection to NATS has ended for good: ${words}\n`);
      process.exit(EXIT_DEPENDENCY_AWAY);
    });
    process.stdout.write(`FAIRLEAD READY ${TUNNEL} ${tunnel.port}\n`);
  } catch (error) {
    process.stderr.write(`${TUNNEL}: ${wordsOf(error)}\n`);
    process.exit(exitCodeOf(error));
  }
};

void main();
