import { runCli } from './cli.js';
import { processIo } from './io/process.io.js';

// The exit code is set rather than the process ended: what was written to a pipe may still be on its way.
void runCli(process.argv.slice(2), processIo()).then((code) => {
  process.exitCode = code;
});
