import { runCli } from './cli.js';
import { processIo } from './io/process.io.js';

// Sets the exit code instead of calling exit: output to a pipe may not be flushed yet.
void runCli(process.argv.slice(2), processIo()).then((code) => {
  process.exitCode = code;
});
