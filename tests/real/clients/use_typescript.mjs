// Use a server with the TypeScript SDK: node use_typescript.mjs TASK, where TASK is JSON as test_clients.py makes it.
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const task = JSON.parse(process.argv[2]);
const [command, ...args] = task.command;
const client = new Client(
  { name: "typescript", version: "1" },
  { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: task.era } },
);
client.setRequestHandler("elicitation/create", async () => ({ action: "accept", content: task.answer }));
await client.connect(new StdioClientTransport({ command, args, env: process.env }));
const text = (blocks) => blocks.map((block) => block.text ?? "").join("\n");
const listed = await client.listTools();
const called = await client.callTool(task.tool);
const asked = await client.callTool(task.question);
const read = await client.readResource({ uri: task.resource });
const prompt = await client.getPrompt({ name: task.prompt });
console.log(
  JSON.stringify({
    tools: listed.tools.map((tool) => tool.name),
    resources: (await client.listResources()).resources.map((resource) => resource.uri),
    prompts: (await client.listPrompts()).prompts.map((one) => one.name),
    tool: text(called.content),
    question: text(asked.content),
    resource: read.contents[0].text,
    prompt: text(prompt.messages.map((message) => message.content)),
  }),
);
await client.close();
