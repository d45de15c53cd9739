import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CHECKOUT } from '../checkout.js';
import { processIo } from '../io/process.io.js';
import { buildProgram } from '../program.js';
import { referenceText } from './reference.js';

writeFileSync(join(CHECKOUT, 'docs', 'cli.md'), referenceText(buildProgram(processIo())));
