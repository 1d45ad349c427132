# SPDX-License-Identifier: BSD-2-Clause
"""A document compressor for LangChain: of what a retriever found, the sentences that the question needs."""

from collections.abc import Sequence
from typing import Any

from langchain_core.documents import BaseDocumentCompressor, Document

import gemkv


class GemkvCompressor(BaseDocumentCompressor):
    keep: int = 256

    def compress_documents(self, documents: Sequence[Document], query: str, callbacks: Any = None) -> list[Document]:
        texts = [d.page_content for d in documents]
        if not any(map(str.strip, texts)):
            return []
        passages = gemkv.Document.from_texts(texts).select(query, keep=self.keep)
        return [Document(p.text, metadata={**documents[p.index].metadata, "score": p.score}) for p in passages]


if __name__ == "__main__":
    found = [
        Document("The report was written in Hamburg. Nobody liked it.", metadata={"source": "a"}),
        Document("It rained. The contract was signed by Ada Fletcher. She was in a hurry.", metadata={"source": "b"}),
    ]
    for document in GemkvCompressor(keep=40).compress_documents(found, "Who signed the contract?"):
        print(document)
