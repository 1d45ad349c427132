# SPDX-License-Identifier: BSD-2-Clause
"""A node postprocessor for LlamaIndex: of the nodes that were retrieved, the sentences that the question needs."""

from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

import gemkv


class GemkvPostprocessor(BaseNodePostprocessor):
    keep: int = 256

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        texts = [n.node.get_content() for n in nodes]
        if query_bundle is None or not any(map(str.strip, texts)):
            return nodes
        passages = gemkv.Document.from_texts(texts).select(query_bundle.query_str, keep=self.keep)
        return [
            NodeWithScore(node=TextNode(text=p.text, metadata=nodes[p.index].node.metadata), score=p.score)
            for p in passages
        ]


if __name__ == "__main__":
    found = [
        NodeWithScore(node=TextNode(text="The report was written in Hamburg. Nobody liked it.")),
        NodeWithScore(node=TextNode(text="It rained. The contract was signed by Ada Fletcher. She was in a hurry.")),
    ]
    for node in GemkvPostprocessor(keep=40).postprocess_nodes(found, query_str="Who signed the contract?"):
        print(node)
