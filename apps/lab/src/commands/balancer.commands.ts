import { CommandFault, type Command } from './command.js';

/**
 * `haproxy -c -f FILE` and `keepalived --config-test --use-file FILE` only check that the file exists. The specs of
 * libs/node-scripts test that the real programs accept it.
 */
export const checkedConfiguration: Command = async ({ host, name, args }) => {
  const file = args.at(-1) ?? '';
  if (!args.includes('-c') && !args.includes('--config-test'))
    throw new CommandFault(`${name}: only a check of its configuration is simulated by Fairlead lab`);
  if (!(await host.files.exists(file))) throw new CommandFault(`${name}: ${file}: no such file`);
  return 0;
};
